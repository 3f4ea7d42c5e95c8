package main

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/cache/shared/azblob/azblobtest"
	"raglab/cache/shared/gs/gstest"
	"raglab/cache/shared/s3/s3test"
)

// cloud is a server of a provider's protocol, which all scripts share.
type cloud struct {
	// bucket makes an empty one and returns the URL of a store in it.
	bucket func(ctx context.Context) (string, error)
	env    []string // with which a process reaches the server
	stop   func()
}

// clouds are the servers by the scheme of their stores. Each starts when it is first asked for.
var clouds = map[string]func() (*cloud, error){
	"s3":     sync.OnceValues(startS3Cloud),
	"gs":     sync.OnceValues(startGSCloud),
	"azblob": sync.OnceValues(startAzureCloud),
}

// cloudStops ends the servers that were started.
var cloudStops struct {
	sync.Mutex
	all []func()
}

func keepCloud(c *cloud) (*cloud, error) {
	cloudStops.Lock()
	defer cloudStops.Unlock()
	cloudStops.all = append(cloudStops.all, c.stop)
	return c, nil
}

func stopClouds() {
	cloudStops.Lock()
	defer cloudStops.Unlock()
	for _, stop := range cloudStops.all {
		stop()
	}
}

func startS3Cloud() (*cloud, error) {
	s, err := s3test.Start(context.Background())
	if err != nil {
		return nil, err
	}
	return keepCloud(&cloud{env: s3test.Environ(), stop: s.Stop, bucket: func(context.Context) (string, error) {
		name, err := s.Bucket()
		return s3test.StoreURL(name, s.URL), err
	}})
}

func startGSCloud() (*cloud, error) {
	s, err := gstest.Start(context.Background())
	if err != nil {
		return nil, err
	}
	return keepCloud(&cloud{env: gstest.Environ(s.URL), stop: s.Stop, bucket: func(ctx context.Context) (string, error) {
		name, err := s.Bucket(ctx)
		return gstest.StoreURL(name), err
	}})
}

func startAzureCloud() (*cloud, error) {
	s, err := azblobtest.Start(context.Background())
	if err != nil {
		return nil, err
	}
	return keepCloud(&cloud{env: azblobtest.Environ(), stop: s.Stop, bucket: func(ctx context.Context) (string, error) {
		name, err := s.Container(ctx)
		return azblobtest.StoreURL(name, s.URL), err
	}})
}

// cloudCondition is whether a provider's server can be had, which continuous integration insists on.
func cloudCondition(scheme string) (bool, error) {
	_, err := clouds[scheme]()
	if err != nil && os.Getenv("CI") != "" {
		return false, err
	}
	return err == nil, nil
}

// bucket SCHEME makes an empty bucket and a store's URL of it in RAGLAB_STORE, with the variables
// that lead there.
func cmdBucket(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "bucket SCHEME")
	c, err := clouds[args[0]]()
	ts.Check(err)
	store, err := c.bucket(context.Background())
	ts.Check(err)
	ts.Setenv("RAGLAB_STORE", store)
	for _, v := range c.env {
		name, value, _ := strings.Cut(v, "=")
		ts.Setenv(name, value)
	}
}
