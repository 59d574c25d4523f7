// A worker of Carillon with the handlers of handlers.go. SIGTERM and Ctrl-C drain it.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func main() {
	options, offered, err := readOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	worker := NewWorker(options, offered)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		for range signals {
			worker.Drain(options.Drain)
		}
	}()
	isAllTold, err := worker.Run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "the server refuses this worker: %v\n", err)
		os.Exit(1)
	}
	if !isAllTold {
		os.Exit(1)
	}
}

func readOptions() (Options, map[string]Handler, error) {
	host, _ := os.Hostname()
	var urls, labels list
	flag.Var(&urls, "url", "a server, `host:port`; may be given several times")
	flag.Var(&labels, "label", "`name=value`; may be given several times")
	key := flag.String("key", os.Getenv("CARILLON_KEY"), "a worker key, or CARILLON_KEY")
	names := flag.String("handlers", "", "offers only these, with commas (all)")
	slots := flag.Int("slots", 4, "how many runs it executes at a time")
	name := flag.String("name", host, "for people")
	drainSeconds := flag.Float64("drain-seconds", 30, "how long runs go on after SIGTERM")
	ca := flag.String("tls-ca", os.Getenv("CARILLON_TLS_CA"), "the `file` with the certificate authority of the servers; turns TLS on, as https:// does")
	cert := flag.String("tls-cert", os.Getenv("CARILLON_TLS_CERT"), "the `file` with the certificate of this worker, for servers that want one")
	certKey := flag.String("tls-key", os.Getenv("CARILLON_TLS_KEY"), "the `file` with its private key")
	flag.Parse()
	options := Options{Key: *key, Slots: *slots, Name: *name, Labels: map[string]string{}}
	options.Drain = time.Duration(*drainSeconds * float64(time.Second))
	if *key == "" {
		return options, nil, errors.New("no key: give --key, or set CARILLON_KEY")
	}
	offered := handlers
	if *names != "" {
		offered = map[string]Handler{}
		for _, name := range strings.Split(*names, ",") {
			if handlers[name] == nil {
				return options, nil, fmt.Errorf("no handler is called %s", name)
			}
			offered[name] = handlers[name]
		}
	}
	if *slots < 1 {
		return options, nil, errors.New("--slots must be at least 1")
	}
	for _, label := range labels {
		name, value, isPair := strings.Cut(label, "=")
		if !isPair {
			return options, nil, errors.New("a label is written name=value")
		}
		options.Labels[name] = value
	}
	if len(urls) == 0 {
		urls = list{"127.0.0.1:7420"}
	}
	isSecure := *ca != "" || *cert != ""
	for _, url := range urls {
		isSecure = isSecure || strings.HasPrefix(url, "https://")
		_, address, isURL := strings.Cut(url, "://")
		if !isURL {
			address = url
		}
		options.Servers = append(options.Servers, strings.TrimRight(address, "/"))
	}
	if !isSecure {
		return options, offered, nil
	}
	config, err := tlsConfig(*ca, *cert, *certKey)
	options.TLS = credentials.NewTLS(config)
	return options, offered, err
}

func tlsConfig(ca, cert, certKey string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return config, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("%s holds no certificate", ca)
		}
	}
	if (cert == "") != (certKey == "") {
		return config, errors.New("--tls-cert and --tls-key are given together")
	}
	if cert == "" {
		return config, nil
	}
	// Read for each stream: certificates of workers are renewed often. An authority is not, and is read once.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, certKey)
		return &pair, err
	}
	_, err := config.GetClientCertificate(nil)
	return config, err
}
