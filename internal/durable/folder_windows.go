package durable

// SyncFolder does nothing: Windows has no such call, and NTFS journals its folders.
func SyncFolder(string) error { return nil }
