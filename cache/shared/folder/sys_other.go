//go:build !unix

package folder

import "os"

// isPassing reports errors of a network file system that may pass; none are told apart here.
func isPassing(error) bool { return false }

// openRead opens a file.
func openRead(path string) (*os.File, error) { return os.Open(path) }

// syncDir does nothing: folders cannot be synced here.
func syncDir(string) error { return nil }
