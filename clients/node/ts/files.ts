/** Files: uploads that leave no file in a bucket that nobody knows. */

import type { Rack } from "./rack";

/** A file that is deleted by the sweep of `keyrack serve` unless it is taken out before. */
export interface WaitingFile {
  bucket: string;
  key: string;
  /** When it is to be deleted. */
  at: Date;
  /** Who entered it, for people. */
  hint: string | null;
}

/**
 * An upload under way: `await using upload = await app.files.upload(bucket, key)`.
 *
 * The file is entered for deletion before its first byte is stored, and `save` takes it out. Whatever goes
 * wrong in between, a crash of the process too, leaves the entry, and the sweep deletes the file. Until then the
 * entry is moved on by Rust threads.
 */
export class Upload {
  readonly #rack: Rack;
  readonly #number: number;
  #isOver = false;

  constructor(
    rack: Rack,
    number: number,
    readonly bucket: string,
    readonly key: string,
  ) {
    this.#rack = rack;
    this.#number = number;
  }

  /**
   * Makes sure that the file is still there; call it right before the file goes on record. After an outage of
   * the store that took minutes, it may have been deleted: a `NotFoundError`.
   */
  async hold(): Promise<void> {
    await this.#rack.call("holdUpload", { upload: this.#number });
  }

  /** Keeps the file: it is on record. */
  async save(): Promise<void> {
    this.#isOver = true;
    await this.#rack.call("saveUpload", { upload: this.#number });
  }

  /** Leaves the file to the sweep, unless it was saved. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#rack.call("abandonUpload", { upload: this.#number });
  }
}

/** The files of a store that wait to be deleted. */
export class Files {
  readonly #rack: () => Rack;

  constructor(rack: () => Rack) {
    this.#rack = rack;
  }

  /** Guards an upload. The name should be a new one. */
  async upload(bucket: string, key: string, options: { hint?: string } = {}): Promise<Upload> {
    const rack = this.#rack();
    const number = await rack.call("beginUpload", { bucket, key, ...options });
    return new Upload(rack, number, bucket, key);
  }

  /** Asks for a file to be deleted by the next sweep. Once is as good as twice. */
  async delete(bucket: string, key: string, options: { hint?: string } = {}): Promise<void> {
    await this.#rack().call("deleteFile", { bucket, key, ...options });
  }

  /** The first files that are to be deleted, the earliest first; 100 by default. */
  async waiting(options: { max?: number } = {}): Promise<WaitingFile[]> {
    const told = await this.#rack().call("waitingFiles", { max: options.max ?? 100 });
    return told.map((file) => ({ ...file, at: new Date(file.at) }));
  }
}
