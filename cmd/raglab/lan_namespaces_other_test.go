//go:build !linux

package main

import (
	"errors"
	"testing"
)

// newNamespaces says that only Linux has them.
func newNamespaces(*testing.T) (lan, error) {
	return nil, errors.New("network namespaces are Linux's")
}
