/** What to show to whom. */

import type { Rack } from "./rack";

/** What is asked for. What is given of the last four limits what is on the list. */
export interface RecommendationOptions {
  /** How many posts, up to 500; 100 by default. */
  limit?: number;
  /** Where to go on, as the page before said. */
  cursor?: string;
  /** Makes the same list again. */
  seed?: number;
  categories?: readonly number[];
  challenges?: readonly number[];
  withoutAuthors?: readonly string[];
  withoutPosts?: readonly number[];
}

/** A post that a user should see. */
export interface Recommendation {
  postId: number;
  challengeId: number;
  /** The code of its category. */
  category: number;
  authorId: string;
  /** How well it suits the user, for comparing posts of one list. */
  score: number;
  /** Why it is here, as a word and as a sentence. */
  reason: string;
  because: string;
}

/** Posts for a user, the best first. */
export interface RecommendationPage {
  items: Recommendation[];
  /** Where the next page begins; undefined after the last. */
  cursor: string | undefined;
}

/** The same in a call. */
export interface StoredPage {
  items: {
    post_id: number;
    challenge_id: number;
    category: number;
    author_id: string;
    score: number;
    reason: string;
    because: string;
  }[];
  next_cursor: string | null;
}

/** The recommendations of a store. */
export class Recommendations {
  readonly #rack: () => Rack;

  constructor(rack: () => Rack) {
    this.#rack = rack;
  }

  /** Posts that a user should see next. A user who is not known gets what is good for all. */
  async list(user: string, options: RecommendationOptions = {}): Promise<RecommendationPage> {
    const { items, next_cursor: next } = await this.#rack().call("recommend", { user, ...options });
    const shown = items.map(({ post_id, challenge_id, author_id, ...item }) => ({
      postId: post_id,
      challengeId: challenge_id,
      authorId: author_id,
      ...item,
    }));
    return { items: shown, cursor: next ?? undefined };
  }

  /** Says that a user was shown posts: others come first then. */
  async shown(user: string, posts: readonly number[]): Promise<void> {
    await this.#rack().call("postsShown", { user, posts });
  }

  /** Never lists these posts to the user again. */
  async hide(user: string, posts: readonly number[]): Promise<void> {
    await this.#rack().call("hidePosts", { user, posts });
  }

  /**
   * Loads what is new in the tables of a folder of CSV or NDJSON files, those of `keyrack recommend sync`;
   * resolves to how many posts came.
   */
  load(folder: string): Promise<number> {
    return this.#rack().call("loadRecommendations", { folder });
  }
}
