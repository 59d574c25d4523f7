// A process that plays river's part in the benchmark. It reads one order per line from its standard input, carries it out
// and answers with one line on its standard output, both JSON; when its input closes, it ends. What it is ordered to do,
// and in which order, is the business of ../river.ts.
//
// river is set up for its best speed: jobs inserted by COPY, 2,000 workers, fetches with the shortest pause between them,
// completions in batches (its default), no timeout per job, no log.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	connectionsMax = 10
	insertSize     = 1_000
	inserters      = 4
	workers        = 2_000
	orderBytesMax  = 1 << 28
)

type order struct {
	Do          string   `json:"do"`
	DatabaseURL string   `json:"databaseUrl"`
	IDs         []string `json:"ids"`
}

type answer struct {
	OK     bool     `json:"ok"`
	Reason string   `json:"reason,omitempty"`
	Count  int      `json:"count"`
	IDs    []string `json:"ids,omitempty"`
}

type noop struct {
	ID string `json:"id"`
}

func (noop) Kind() string { return "noop" }

func main() {
	orders := make(chan order)
	go read(orders)
	answers := json.NewEncoder(os.Stdout)
	peer := &peer{}
	for given := range orders {
		result, err := peer.carryOut(context.Background(), given)
		if err != nil {
			result = answer{Reason: err.Error()}
		} else {
			result.OK = true
		}
		if err := answers.Encode(result); err != nil {
			os.Exit(1)
		}
	}
}

// Beside the work, so that a process whose parent is gone ends in the middle of an order too.
func read(orders chan<- order) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, orderBytesMax)
	for lines.Scan() {
		var given order
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			fmt.Fprintln(os.Stderr, "river: an order that is no JSON:", err)
			os.Exit(2)
		}
		orders <- given
	}
	os.Exit(0)
}

type peer struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	given   []string
	mutex   sync.Mutex
	ran     []string
	allRan  chan struct{}
	working bool
}

func (p *peer) carryOut(ctx context.Context, given order) (answer, error) {
	switch given.Do {
	case "start":
		return answer{}, p.start(ctx, given.DatabaseURL)
	case "take":
		p.given = append(p.given, given.IDs...)
		return answer{Count: len(p.given)}, nil
	case "submit":
		return answer{}, p.submit(ctx)
	case "drain":
		return answer{}, p.drain(ctx)
	case "tell":
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return answer{IDs: p.ran}, nil
	case "countUnfinished":
		return p.count(ctx, "state <> 'completed'")
	case "countHistory":
		return p.count(ctx, "state = 'completed'")
	case "stop":
		return answer{}, p.stop(ctx)
	}
	return answer{}, fmt.Errorf("no order is called %q", given.Do)
}

func (p *peer) start(ctx context.Context, databaseURL string) error {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	config.MaxConns = connectionsMax
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	driver := riverpgxv5.New(p.pool)
	silent := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent})
	if err != nil {
		return err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	registered := river.NewWorkers()
	river.AddWorker(registered, river.WorkFunc(func(_ context.Context, job *river.Job[noop]) error {
		p.note(job.Args.ID)
		return nil
	}))
	p.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: 10 * time.Millisecond,
		JobTimeout:        -1,
		Logger:            silent,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           registered,
	})
	return err
}

// Called from inside the handler. Each time counts, so that a job that runs twice is seen to have done so.
func (p *peer) note(id string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ran = append(p.ran, id)
	if len(p.ran) == len(p.given) {
		close(p.allRan)
	}
}

func (p *peer) submit(ctx context.Context) error {
	batches := make(chan []string)
	failures := make(chan error, inserters)
	var inserting sync.WaitGroup
	for range inserters {
		inserting.Go(func() {
			for ids := range batches {
				if err := p.insert(ctx, ids); err != nil {
					failures <- err
					// The others' batches must not wait for this one for ever.
					for range batches {
					}
				}
			}
		})
	}
	for from := 0; from < len(p.given); from += insertSize {
		batches <- p.given[from:min(from+insertSize, len(p.given))]
	}
	close(batches)
	inserting.Wait()
	close(failures)
	return <-failures
}

func (p *peer) insert(ctx context.Context, ids []string) error {
	params := make([]river.InsertManyParams, len(ids))
	for i, id := range ids {
		params[i].Args = noop{ID: id}
	}
	inserted, err := p.client.InsertManyFast(ctx, params)
	if err == nil && inserted != len(ids) {
		return fmt.Errorf("%d of %d jobs were inserted", inserted, len(ids))
	}
	return err
}

func (p *peer) drain(ctx context.Context) error {
	if len(p.given) == 0 {
		return errors.New("there is nothing to drain")
	}
	p.allRan = make(chan struct{})
	p.ran = make([]string, 0, len(p.given)+workers)
	if err := p.client.Start(ctx); err != nil {
		return err
	}
	p.working = true
	<-p.allRan
	return p.waitUntilRecorded(ctx)
}

// All handlers have run; the last completions are on their way into the store.
func (p *peer) waitUntilRecorded(ctx context.Context) error {
	for {
		var unfinished bool
		const query = "select exists (select from river_job where state in ('available', 'running'))"
		if err := p.pool.QueryRow(ctx, query).Scan(&unfinished); err != nil || !unfinished {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *peer) count(ctx context.Context, condition string) (answer, error) {
	var count int
	err := p.pool.QueryRow(ctx, "select count(*) from river_job where "+condition).Scan(&count)
	return answer{Count: count}, err
}

func (p *peer) stop(ctx context.Context) error {
	var err error
	if p.working {
		err = p.client.Stop(ctx)
		p.working = false
	}
	if p.pool != nil {
		p.pool.Close()
	}
	return err
}
