// Package assets gets the large files that raglab needs and does not ship:
// models, dictionaries, shared libraries.
//
// An [Asset] has a name, a version, a licence and, per platform, a list of files,
// each with its SHA-256 and the places it can be had from. A [Store] is a folder
// of assets shared by all projects and processes of a user. For each file
// [Store.Fetch] tries, in this order:
//
//  1. the assets folder itself;
//  2. the file or folder that the environment variable RAGLAB_ASSET_NAME names;
//  3. the places the file lists: a Hugging Face repository at a commit (the local
//     Hugging Face cache first), a pip package at an exact version, an https URL.
//
// Nothing is used before its digest is verified. Files are written beside their
// place, synced and renamed, so that whatever has the final name is whole.
// Downloads over HTTP resume where an earlier one stopped. A lock held by the
// operating system, which dies with its holder, lets many processes want the
// same asset at once and download it once.
//
// # Layout
//
//	DIR/NAME/VERSION[-OS-ARCH]/FILE        what was fetched
//	DIR/NAME/VERSION[-OS-ARCH]/asset.json  name, licence, and each file's size, digest, origin
//	DIR/NAME/VERSION[-OS-ARCH]/FILE.part   an unfinished download, FILE.part.json its origin
//	DIR/NAME/VERSION[-OS-ARCH].lock        the lock
//
// A file put at its place by hand is taken after its digest was verified.
package assets
