"""Lists of other programs for a made-up app: implicit's ALS and BPR, EASE, popular and newest.

usage: baselines.py FOLDER

The folder has the files that `lists export` writes. Models are over users and challenges; posts of a
challenge are ordered by likes or by age, whichever tunes better. Parameters are tuned on the week before
the judged one, by the same measure. Each model makes two lists: one with at most two posts of a
challenge, as keyrack has it, and one without that rule ("free").
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking

K = 10
SEED = 1


def rows(path):
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()]


class Split:
    """What was known at the end of a day."""

    def __init__(self, folder, prefix, n_users):
        train = np.array(rows(folder / f"{prefix}train"), dtype=np.int64).reshape(-1, 3)
        self.pool = np.array(rows(folder / f"{prefix}pool"), dtype=np.int64).reshape(-1, 5)
        n_challenges = int(max(train[:, 1].max(initial=0), self.pool[:, 1].max(initial=0))) + 1
        shape = (n_users, n_challenges)
        self.counts = sp.csr_matrix((train[:, 2].astype(np.float32), (train[:, 0], train[:, 1])), shape=shape)
        self.closed = defaultdict(set)
        for user, post in rows(folder / f"{prefix}closed"):
            self.closed[user].add(post)
        self.post, self.challenge = self.pool[:, 0], self.pool[:, 1]
        self.challenge_of = dict(zip(self.post.tolist(), self.challenge.tolist()))
        likes, age = self.pool[:, 3].astype(float), self.pool[:, 4].astype(float)
        by_id = self.post / (self.post.max() + 1.0)
        self.within = {}
        for name, worth in (("likes", likes + by_id), ("newest", -age + by_id)):
            order = np.argsort(-worth)
            of_challenges = defaultdict(list)
            for at in order:
                of_challenges[int(self.challenge[at])].append(int(self.post[at]))
            self.within[name] = (self.post[order].tolist(), of_challenges)


def first_open(posts, closed, n):
    return [post for post in posts if post not in closed][:n]


def choose(split, scores, within, user, limited):
    """The first ten posts by the score of their challenge, then by what orders posts within it."""
    chosen, closed, of_challenges = [], split.closed[user], split.within[within][1]
    for challenge in np.argsort(-scores, kind="stable"):
        posts = of_challenges.get(int(challenge))
        if posts:
            chosen.extend(first_open(posts, closed, 2 if limited else K))
            if len(chosen) >= K:
                break
    return chosen[:K]


def simple(split, within, user):
    """The first ten posts of all."""
    return first_open(split.within[within][0][: K + len(split.closed[user])], split.closed[user], K)


def simple_limited(split, within, user):
    """The first ten posts of all, at most two of a challenge."""
    chosen, closed, taken = [], split.closed[user], defaultdict(int)
    for post in split.within[within][0]:
        challenge = split.challenge_of[post]
        if post not in closed and taken[challenge] < 2:
            taken[challenge] += 1
            chosen.append(post)
            if len(chosen) == K:
                break
    return chosen


def lists(split, score_users, within, users, limited):
    """Lists for users. Somebody without likes gets popular posts: no model says anything about them."""
    made, known = {}, np.diff(split.counts.indptr) > 0
    scores = np.asarray(score_users(users))
    for at, user in enumerate(users):
        if known[user]:
            made[user] = choose(split, scores[at], within, user, limited)
        else:
            made[user] = simple(split, "likes", user)
    return made


def ndcg(made, wanted):
    gains = []
    for user, posts in wanted.items():
        hits = sum(1 / np.log2(at + 2) for at, post in enumerate(made[user]) if post in posts)
        gains.append(hits / sum(1 / np.log2(at + 2) for at in range(min(K, len(posts)))))
    return float(np.mean(gains)) if gains else 0.0


def ease(split, ridge, power):
    matrix = split.counts.copy()
    matrix.data = np.log1p(matrix.data) if power == "log" else np.ones_like(matrix.data)
    gram = (matrix.T @ matrix).toarray().astype(np.float64)
    gram[np.diag_indices_from(gram)] += ridge
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return lambda users: matrix[users] @ weights


def ease_with_own(split, ridge, power, own):
    """EASE predicts what is not there; people want posts of challenges they know, so these get a bonus."""
    scores = ease(split, ridge, power)
    liking = split.counts.copy()
    liking.data = np.log1p(liking.data)
    return lambda users: scores(users) + own * liking[users].toarray()


def als(split, factors, regularization, alpha):
    model = AlternatingLeastSquares(
        factors=factors, regularization=regularization, alpha=alpha, iterations=15, random_state=SEED, num_threads=1
    )
    model.fit(split.counts, show_progress=False)
    return lambda users: model.user_factors[users] @ model.item_factors.T


def bpr(split, factors, learning_rate, regularization):
    model = BayesianPersonalizedRanking(
        factors=factors,
        learning_rate=learning_rate,
        regularization=regularization,
        iterations=150,
        random_state=SEED,
        num_threads=1,
    )
    model.fit(split.counts, show_progress=False)
    return lambda users: model.user_factors[users] @ model.item_factors.T


GRIDS = {
    "ease": [
        (ease_with_own, (ridge, power, own))
        for ridge in (3, 10, 30, 100, 300)
        for power in ("log", "binary")
        for own in (0.0, 0.1, 0.3)
    ],
    "als": [(als, (f, r, a)) for f in (4, 8, 16, 32) for r in (0.1, 1.0) for a in (1.0, 10.0)],
    "bpr": [(bpr, (f, lr, r)) for f in (8, 32) for lr in (0.02, 0.1) for r in (0.01, 0.05)],
}

# Users by whom parameters are tuned: enough to tell them apart, few enough for minutes.
TUNED_BY = 600


def write(folder, name, made):
    lines = [" ".join(map(str, [user, *posts])) for user, posts in made.items()]
    (folder / f"{name}.lists").write_text("\n".join(lines) + "\n")


def main():
    folder = Path(sys.argv[1])
    users = np.array([user for (user,) in rows(folder / "users")])
    now, earlier = Split(folder, "", len(users)), Split(folder, "earlier_", len(users))
    wanted = {user: set(posts) for user, *posts in rows(folder / "earlier_wanted")}
    judged = sorted(wanted)
    judged = np.array(judged[:: max(1, len(judged) // TUNED_BY)])
    wanted = {user: wanted[user] for user in judged}
    for name, grid in GRIDS.items():
        tuned = {True: [], False: []}
        for model, parameters in grid:
            score_users = model(earlier, *parameters)
            for limited in (True, False):
                for within in ("likes", "newest"):
                    made = lists(earlier, score_users, within, judged, limited)
                    tuned[limited].append((ndcg(made, wanted), model, parameters, within))
        for limited in (True, False):
            _, model, parameters, within = max(tuned[limited], key=lambda tried: tried[0])
            made = lists(now, model(now, *parameters), within, users, limited)
            label = name if limited else f"{name} free"
            write(folder, label, made)
            print(f"tuned {label}: {parameters}, posts by {within}", file=sys.stderr)
    write(folder, "popular", {user: simple(now, "likes", user) for user in users})
    limited = {user: simple_limited(now, "likes", user) for user in users}
    write(folder, "popular limited", limited)
    write(folder, "newest", {user: simple(now, "newest", user) for user in users})


if __name__ == "__main__":
    main()
