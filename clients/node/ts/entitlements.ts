/** What users have paid for. */

import { ConflictError, NotFoundError } from "./errors";
import type { Rack } from "./rack";

/** RevenueCat, which knows what users have paid for. */
export interface RevenueCat {
  /** The secret API key of the project. */
  key: string;
  /** The public key of the project's Stripe app. */
  stripeKey?: string;
  url?: string;
}

/** Which entitlements there are, and who knows them. */
export interface EntitlementOptions {
  /** `["pro"]` by default. */
  names?: readonly string[];
  source?: RevenueCat;
}

/** The words of a question in a call. */
export interface EntitlementQuery {
  user: string;
  entitlement: string;
  isForced: boolean;
  names: readonly string[];
  source: { url: string; key: string; stripeKey: string } | null;
}

/** The words in which a user is linked in a call. */
export type LinkQuery = Pick<EntitlementQuery, "user" | "names" | "source"> & { revenueCatId: string };

/** What is known of an entitlement, in a call. Times are unix milliseconds. */
export interface StoredEntitlement {
  isActive: boolean;
  expiresAt: number | null;
  checkedAt: number;
  origin: Entitlement["origin"];
}

/** Whether a user may use something. */
export interface Entitlement {
  isActive: boolean;
  /** When it ends unless it is renewed; null if it does not, or is not active. */
  expiresAt: Date | null;
  /** When this was found out. */
  checkedAt: Date;
  /**
   * Who says so. `assumed`: the source cannot be asked and nothing is known, so for ten minutes the user is
   * taken to be entitled.
   */
  origin: "local" | "store" | "source" | "last_known" | "assumed";
}

const URL = "https://api.revenuecat.com";

/**
 * The entitlements of the users of a store. What there are and who knows them is in the settings of the
 * program, `KEYRACK_ENTITLEMENTS` and `KEYRACK_REVENUE_CAT_KEY`, unless `configure` says it. Without a source,
 * what the store has counts.
 */
export class Entitlements {
  readonly #rack: () => Rack;
  #settings: Pick<EntitlementQuery, "names" | "source"> | undefined;
  #isUsed = false;

  constructor(rack: () => Rack) {
    this.#rack = rack;
  }

  /** Says which entitlements there are, and who knows them. Call it before the first question. */
  configure(options: EntitlementOptions): void {
    if (this.#isUsed) {
      throw new ConflictError("the entitlements are in use already; configure them at the start");
    }
    this.#settings = settings(options);
  }

  /**
   * Whether a user has an entitlement. It is asked for at most once a day, and remembered. Of a user who is not
   * known to those who sell, this is false, and `lookup` rejects with a `NotFoundError`.
   */
  async has(user: string, entitlement: string): Promise<boolean> {
    try {
      return (await this.lookup(user, entitlement)).isActive;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Says by which id RevenueCat knows a user. */
  async link(user: string, revenueCatId: string): Promise<void> {
    await this.#rack().call("linkCustomer", { user, revenueCatId, ...this.#used() });
  }

  /** The same with who says so; with `fresh`, as the source knows it now. */
  async lookup(
    user: string,
    entitlement: string,
    options: { fresh?: boolean } = {},
  ): Promise<Entitlement> {
    const asked = { user, entitlement, isForced: options.fresh ?? false, ...this.#used() };
    const told = await this.#rack().call("entitlement", asked);
    return {
      ...told,
      expiresAt: told.expiresAt === null ? null : new Date(told.expiresAt),
      checkedAt: new Date(told.checkedAt),
    };
  }

  #used(): Pick<EntitlementQuery, "names" | "source"> {
    this.#settings ??= settings(ofEnvironment());
    this.#isUsed = true;
    return this.#settings;
  }
}

function settings({ names = ["pro"], source }: EntitlementOptions): Pick<EntitlementQuery, "names" | "source"> {
  if (source === undefined) return { names, source: null };
  const { key, stripeKey = "", url = URL } = source;
  return { names, source: { key, stripeKey, url } };
}

function ofEnvironment(): EntitlementOptions {
  // An empty variable is how shells and containers unset one.
  const setting = (name: string): string => process.env[name] ?? "";
  const names = (setting("KEYRACK_ENTITLEMENTS") || "pro").split(",").map((name) => name.trim());
  const key = setting("KEYRACK_REVENUE_CAT_KEY");
  if (key === "") return { names };
  const stripeKey = setting("KEYRACK_REVENUE_CAT_STRIPE_KEY");
  return { names, source: { key, stripeKey, url: setting("KEYRACK_REVENUE_CAT_URL") || URL } };
}
