//! Links in the folders of buckets.

use std::{fs, os::unix::fs::symlink};

use keyrack_files::{Buckets, Deleted, File};
use tempfile::TempDir;

fn file(key: &str) -> File {
    File::new("bucket", key)
}

#[tokio::test]
async fn no_link_leads_out_of_its_bucket() {
    let dir = TempDir::new().expect("a folder");
    let (root, outside) = (dir.path().join("buckets"), dir.path().join("outside"));
    fs::create_dir_all(root.join("bucket/real")).expect("a bucket");
    fs::create_dir_all(&outside).expect("a folder");
    fs::write(outside.join("secret"), "secret").expect("a file");
    symlink(&outside, root.join("bucket/out")).expect("a link");
    symlink(outside.join("secret"), root.join("bucket/link")).expect("a link");
    symlink(outside.join("new"), root.join("bucket/nowhere")).expect("a link");
    symlink(root.join("bucket/real"), root.join("bucket/in")).expect("a link");
    let buckets = Buckets::folder(&root);
    for key in ["out/secret", "out/new", "link", "nowhere"] {
        assert!(buckets.get(&file(key)).await.is_err(), "{key} was read");
        assert!(buckets.put(&file(key), b"x".to_vec()).await.is_err(), "{key} was written");
    }
    assert!(buckets.delete(&file("out/secret")).await.is_err());
    assert_eq!(fs::read_to_string(outside.join("secret")).expect("still there"), "secret");
    assert!(!outside.join("new").exists());

    buckets.put(&file("in/a"), b"x".to_vec()).await.expect("inside");
    assert_eq!(buckets.get(&file("real/a")).await.expect("read"), Some(b"x".to_vec()));
    assert_eq!(buckets.delete(&file("in/a")).await.expect("deleted"), Deleted::Gone);
    // The link itself is in the bucket, and goes alone.
    assert_eq!(buckets.delete(&file("link")).await.expect("deleted"), Deleted::Gone);
    assert!(outside.join("secret").exists());
}
