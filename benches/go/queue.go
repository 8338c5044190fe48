package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type (
	name  = cache.ObjectName
	queue = workqueue.TypedRateLimitingInterface[name]
)

// One thread has so many keys in the queue at once.
const atOnce = 1000

// measureQueue prints the figures of one case; ../src/bench/queue/subject.rs does the same with ours.
func measureQueue(which, count string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	keys := names(number)
	var figures []float64
	switch which {
	case "one-thread":
		figures = oneThread(keys)
	case "one-and-one":
		figures = crowd(keys, 1, false)
	case "four-and-four":
		figures = crowd(keys, 4, false)
	case "rate-limited":
		figures = crowd(keys, 1, true)
	case "waiting":
		figures, err = bytes(keys, newQueue(nil), func(q queue, key name) { q.Add(key) })
	case "waiting-metered":
		figures, err = bytes(keys, newQueue(counted{}), func(q queue, key name) { q.Add(key) })
	case "delayed":
		figures, err = bytes(keys, newQueue(nil), func(q queue, key name) { q.AddAfter(key, time.Hour) })
	case "late":
		figures = late(keys)
	default:
		err = fmt.Errorf("unknown case %s", which)
	}
	for _, figure := range figures {
		fmt.Println(figure)
	}
	return err
}

func newQueue(metrics workqueue.MetricsProvider) queue {
	config := workqueue.TypedRateLimitingQueueConfig[name]{MetricsProvider: metrics}
	if metrics != nil {
		config.Name = "bench"
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[name](time.Millisecond, 1000*time.Second)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
}

func names(count int) []name {
	namespaces := make([]string, 100)
	for i := range namespaces {
		namespaces[i] = fmt.Sprintf("namespace-%d", i)
	}
	keys := make([]name, count)
	for i := range keys {
		keys[i] = name{Namespace: namespaces[i%100], Name: fmt.Sprintf("some-object-%07d", i)}
	}
	return keys
}

// stopwatch measures what happens from now on.
type stopwatch struct {
	clock time.Time
	cpu   uint64
}

func start() stopwatch {
	return stopwatch{time.Now(), cpu()}
}

// each is nanoseconds a key, of CPU and on the clock.
func (s stopwatch) each(keys []name) []float64 {
	clock := time.Since(s.clock).Nanoseconds()
	count := float64(len(keys))
	return []float64{float64(cpu()-s.cpu) / count, float64(clock) / count}
}

// cpu is nanoseconds that the threads of this process ran.
func cpu() uint64 {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		panic(err)
	}
	var sum uint64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		ran, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			panic(err)
		}
		sum += ran
	}
	return sum
}

func oneThread(keys []name) []float64 {
	q := newQueue(nil)
	watch := start()
	for some := range slices.Chunk(keys, atOnce) {
		for _, key := range some {
			q.Add(key)
		}
		for range some {
			key, _ := q.Get()
			q.Done(key)
		}
	}
	return watch.each(keys)
}

// crowd has producers and as many consumers.
func crowd(keys []name, size int, limited bool) []float64 {
	q := newQueue(nil)
	var producers, consumers, handled sync.WaitGroup
	handled.Add(len(keys))
	watch := start()
	for range size {
		consumers.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				if limited {
					q.Forget(key)
				}
				q.Done(key)
				handled.Done()
			}
		})
	}
	for part := range slices.Chunk(keys, (len(keys)+size-1)/size) {
		producers.Go(func() {
			for _, key := range part {
				if limited {
					q.AddRateLimited(key)
				} else {
					q.Add(key)
				}
			}
		})
	}
	producers.Wait()
	handled.Wait()
	figures := watch.each(keys)
	q.ShutDown()
	consumers.Wait()
	return figures
}

// bytes is what a key takes of the live heap: without what the garbage collector has not collected, and what it keeps in reserve.
func bytes(keys []name, q queue, add func(queue, name)) ([]float64, error) {
	before := live()
	for _, key := range keys {
		add(q, key)
	}
	// The delaying queue takes keys through a channel.
	time.Sleep(time.Second)
	after := live()
	q.ShutDown()
	runtime.KeepAlive(keys)
	return []float64{float64(after-before) / float64(len(keys))}, nil
}

func live() uint64 {
	runtime.GC()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// late says how many milliseconds after its time a key comes, all of them due within one second.
func late(keys []name) []float64 {
	q := newQueue(nil)
	step := time.Second / time.Duration(len(keys))
	due := make(map[name]time.Time, len(keys))
	first := time.Now().Add(500 * time.Millisecond)
	for i, key := range keys {
		at := first.Add(step * time.Duration(i))
		due[key] = at
		q.AddAfter(key, time.Until(at))
	}
	delays := make([]time.Duration, 0, len(keys))
	for len(delays) < len(keys) {
		key, _ := q.Get()
		delays = append(delays, time.Since(due[key]))
		q.Done(key)
	}
	slices.Sort(delays)
	last := len(delays) - 1
	return []float64{delays[last*99/100].Seconds() * 1e3, delays[last].Seconds() * 1e3}
}

// counted is metrics that count nothing: what they cost is what the queue keeps for them.
type counted struct{}

type nothing struct{}

func (nothing) Inc()            {}
func (nothing) Dec()            {}
func (nothing) Set(float64)     {}
func (nothing) Observe(float64) {}

func (counted) NewDepthMetric(string) workqueue.GaugeMetric       { return nothing{} }
func (counted) NewAddsMetric(string) workqueue.CounterMetric      { return nothing{} }
func (counted) NewLatencyMetric(string) workqueue.HistogramMetric { return nothing{} }
func (counted) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return nothing{}
}
func (counted) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return nothing{}
}
func (counted) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return nothing{}
}
func (counted) NewRetriesMetric(string) workqueue.CounterMetric { return nothing{} }
