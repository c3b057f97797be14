//! Files on every store, in folders and on a server that speaks S3.

mod world;

mod crash;
mod links;
mod purgatory;
mod s3;
mod sweep;
mod upload;
