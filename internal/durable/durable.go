// Package durable makes what was written survive a loss of power.
package durable
