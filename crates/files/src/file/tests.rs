//! Members, held against what Python makes of the same files.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Vectors {
    made: Vec<Made>,
    foreign: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    file: File,
    member: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("vectors.json")).expect("vectors")
}

#[test]
fn members_are_those_of_python_to_the_byte() {
    let vectors = vectors();
    assert!(vectors.made.len() >= 40);
    for Made { file, member } in &vectors.made {
        assert_eq!(file.member(), *member);
        assert_eq!(File::from_member(member.as_bytes()).as_ref(), Ok(file), "{member}");
    }
}

#[test]
fn members_that_others_wrote_in_their_own_way_are_understood() {
    for member in &vectors().foreign {
        let file = File::from_member(member.as_bytes()).expect(member);
        assert_eq!((&*file.bucket, &*file.key, file.expected), ("b", "k", false), "{member}");
    }
}

#[test]
fn members_that_name_no_file_are_refused_with_a_reason() {
    let long = format!(r#"{{"bucket": "b", "key": "{}"}}"#, "k".repeat(1025));
    let bad: [&[u8]; 9] = [
        b"",
        b"a/b",
        b"[]",
        b"{}",
        br#"{"bucket": "b"}"#,
        br#"{"bucket": "", "key": "k"}"#,
        br#"{"bucket": 1, "key": "k"}"#,
        b"{\"bucket\": \"b\", \"key\": \"\xff\"}",
        long.as_bytes(),
    ];
    for member in bad {
        let reason = File::from_member(member).expect_err("no file");
        assert!(reason.starts_with("the entry names no file: "), "{reason}");
    }
}
