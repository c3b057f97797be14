//! Where the files are: folders, or anything that speaks S3.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path as FsPath, PathBuf},
    sync::Arc,
    time::Duration,
};

use object_store::{
    ClientOptions, ObjectStore, ObjectStoreExt as _, RetryConfig, aws::AmazonS3Builder,
    local::LocalFileSystem, path::Path,
};
use parking_lot::Mutex;

use crate::{error::Error, file::File};

/// Buckets that are kept open. Their names come from data, so there could be any number.
const OPEN_MAX: usize = 100;

/// How long a request to S3 may take, and all attempts of one together.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(20);
const ATTEMPTS_TIME_MAX: Duration = Duration::from_secs(10);

/// All buckets in one place. Cheap to clone.
#[derive(Clone)]
pub struct Buckets {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    open: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

#[derive(Debug)]
enum Place {
    /// Each bucket is a folder in this one.
    Folder(PathBuf),
    S3 {
        endpoint: Option<String>,
        credentials: Option<Credentials>,
    },
}

/// Who may use an S3 server; without these, what `AWS_…` variables or the machine's role say.
#[derive(Clone)]
pub struct Credentials {
    /// The id of the key.
    pub access_key_id: String,
    /// The secret of the key.
    pub secret_access_key: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// How a deletion went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// The file is gone. S3 says so too of files that never were.
    Gone,
    /// There was none.
    Missing,
}

impl Buckets {
    /// The buckets that a URL stands for: `file:DIR` for folders in one, `s3:` for Amazon S3, `s3:https://HOST` for whatever else
    /// speaks its protocol.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn open(url: &str) -> Result<Buckets, Error> {
        let invalid = |reason: &str| Error::Invalid {
            field: "files",
            reason: format!("\"{url}\" {reason}; give file:DIR, s3: or s3:https://HOST"),
        };
        if let Some(folder) = url.strip_prefix("file:") {
            let folder = folder.strip_prefix("//").unwrap_or(folder);
            return match folder {
                "" => Err(invalid("names no folder")),
                folder => Ok(Buckets::folder(folder)),
            };
        }
        match url.strip_prefix("s3:") {
            Some("" | "//") => Ok(Buckets::s3(None, None)),
            Some(endpoint)
                if endpoint.starts_with("https://") || endpoint.starts_with("http://") =>
            {
                Ok(Buckets::s3(Some(endpoint), None))
            }
            _ => Err(invalid("says not where the files are")),
        }
    }

    /// Buckets that are folders in `folder`.
    pub fn folder(folder: impl Into<PathBuf>) -> Buckets {
        Buckets::at(Place::Folder(folder.into()))
    }

    /// Buckets of Amazon S3, or of an endpoint that speaks the same.
    pub fn s3(endpoint: Option<&str>, credentials: Option<Credentials>) -> Buckets {
        Buckets::at(Place::S3 { endpoint: endpoint.map(str::to_owned), credentials })
    }

    fn at(place: Place) -> Buckets {
        Buckets { inner: Arc::new(Inner { place, open: Mutex::default() }) }
    }

    /// Stores a file.
    ///
    /// # Errors
    /// When the bucket is not there or does not take it.
    pub async fn put(&self, file: &File, content: Vec<u8>) -> Result<(), Error> {
        file.check()?;
        let (bucket, path) = (self.bucket(&file.bucket)?, path(file)?);
        self.stays_inside(file, &file.key)?;
        bucket.put(&path, content.into()).await.map(drop).map_err(|error| failed(file, &error))
    }

    /// Reads a file; none if it is not there.
    ///
    /// # Errors
    /// When the bucket fails.
    pub async fn get(&self, file: &File) -> Result<Option<Vec<u8>>, Error> {
        let (bucket, path) = (self.bucket(&file.bucket)?, path(file)?);
        self.stays_inside(file, &file.key)?;
        let read = async { bucket.get(&path).await?.bytes().await };
        match read.await {
            Ok(content) => Ok(Some(content.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(file, &error)),
        }
    }

    /// Deletes a file. One that is not there is as good.
    ///
    /// # Errors
    /// When the bucket fails, or is not there: that is a mistake in the settings far more often than a file that is gone.
    pub async fn delete(&self, file: &File) -> Result<Deleted, Error> {
        let (bucket, path) = (self.bucket(&file.bucket)?, path(file)?);
        // What is deleted is the last part itself, be it a link.
        self.stays_inside(file, file.key.rsplit_once('/').map_or("", |(parent, _)| parent))?;
        let deleted = bucket.delete(&path).await;
        let Place::Folder(folder) = &self.inner.place else {
            return deleted.map(|()| Deleted::Gone).map_err(|error| failed(file, &error));
        };
        let had_parts =
            delete_parts(&folder.join(&file.bucket).join(&file.key)).map_err(|error| {
                Error::Bucket { bucket: file.bucket.clone(), reason: error.to_string() }
            })?;
        match deleted {
            Ok(()) => Ok(Deleted::Gone),
            Err(object_store::Error::NotFound { .. }) if had_parts => Ok(Deleted::Gone),
            Err(object_store::Error::NotFound { .. }) => Ok(Deleted::Missing),
            Err(error) => Err(failed(file, &error)),
        }
    }

    /// Refuses a path that a link leads out of its bucket.
    fn stays_inside(&self, file: &File, path: &str) -> Result<(), Error> {
        let Place::Folder(folder) = &self.inner.place else { return Ok(()) };
        let bucket = folder.join(&file.bucket);
        let whole = bucket.join(path);
        let is_there = |path: &&FsPath| fs::symlink_metadata(path).is_ok();
        let found = whole.ancestors().find(is_there).unwrap_or(&bucket);
        let is_inside = match (fs::canonicalize(found), fs::canonicalize(&bucket)) {
            (Ok(found), Ok(bucket)) => found.starts_with(bucket),
            // A link to nothing would be followed by whatever is written.
            (Err(_), _) | (_, Err(_)) => false,
        };
        if is_inside {
            return Ok(());
        }
        let reason = format!("\"{}\" leads out of it through a link", file.key);
        Err(Error::Bucket { bucket: file.bucket.clone(), reason })
    }

    fn bucket(&self, name: &str) -> Result<Arc<dyn ObjectStore>, Error> {
        if let Some(bucket) = self.inner.open.lock().get(name) {
            return Ok(bucket.clone());
        }
        let opened = match &self.inner.place {
            Place::Folder(folder) => open_folder(folder, name)?,
            Place::S3 { endpoint, credentials } => {
                open_s3(endpoint.as_deref(), credentials.as_ref(), name)?
            }
        };
        let mut open = self.inner.open.lock();
        if open.len() >= OPEN_MAX {
            open.clear();
        }
        open.insert(name.to_owned(), opened.clone());
        Ok(opened)
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buckets").field(&self.inner.place).finish()
    }
}

fn open_folder(folder: &FsPath, name: &str) -> Result<Arc<dyn ObjectStore>, Error> {
    // A bucket is one folder; a name that leads elsewhere is no bucket.
    let is_one = FsPath::new(name).components().count() == 1
        && matches!(FsPath::new(name).components().next(), Some(std::path::Component::Normal(part)) if part == name);
    if !is_one {
        let reason = "that is no name of a folder".into();
        return Err(Error::Bucket { bucket: name.to_owned(), reason });
    }
    let folder = folder.join(name);
    if !folder.is_dir() {
        let reason = format!("there is no such folder \"{}\"", folder.display());
        return Err(Error::Bucket { bucket: name.to_owned(), reason });
    }
    let opened = LocalFileSystem::new_with_prefix(folder);
    let opened = opened.map_err(|error| bucket_failed(name, &error))?;
    Ok(Arc::new(opened.with_fsync(true)))
}

/// Deletes what uploads that crashed have left beside a file: its beginnings, numbered from 1. True if there were any.
fn delete_parts(file: &FsPath) -> io::Result<bool> {
    for number in 1.. {
        let mut part = file.as_os_str().to_owned();
        part.push(format!("#{number}"));
        match fs::remove_file(part) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(number > 1),
            // The file's folder is a file, so there can be nothing in it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn open_s3(
    endpoint: Option<&str>,
    credentials: Option<&Credentials>,
    name: &str,
) -> Result<Arc<dyn ObjectStore>, Error> {
    // The connections to Redis use the same; it may be installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let options = ClientOptions::new()
        .with_timeout(REQUEST_TIME_MAX)
        .with_connect_timeout(ATTEMPTS_TIME_MAX)
        .with_allow_http(is_plain);
    let retry =
        RetryConfig { max_retries: 2, retry_timeout: ATTEMPTS_TIME_MAX, ..Default::default() };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(name)
        .with_client_options(options)
        .with_retry(retry)
        // Not every server that speaks S3 knows how to delete several at once.
        .with_disable_bulk_delete(true);
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(credentials) = credentials {
        builder = builder
            .with_access_key_id(&credentials.access_key_id)
            .with_secret_access_key(&credentials.secret_access_key);
    }
    Ok(Arc::new(builder.build().map_err(|error| bucket_failed(name, &error))?))
}

/// The file's name as the storage takes it. One that would have to be changed for that is another file's.
fn path(file: &File) -> Result<Path, Error> {
    let odd = |reason: String| Error::Bucket { bucket: file.bucket.clone(), reason };
    let path = Path::parse(&file.key).map_err(|error| odd(error.to_string()))?;
    if path.as_ref() != file.key {
        return Err(odd(format!("\"{}\" begins or ends with a slash; no file does", file.key)));
    }
    Ok(path)
}

fn failed(file: &File, error: &object_store::Error) -> Error {
    bucket_failed(&file.bucket, error)
}

fn bucket_failed(bucket: &str, error: &object_store::Error) -> Error {
    Error::Bucket { bucket: bucket.to_owned(), reason: error.to_string() }
}
