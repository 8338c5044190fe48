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

// batchKeys is the number of keys that the single thread adds at once.
const batchKeys = 1000

// measureQueue prints the figures of one case. ../src/bench/queue/subject.rs does the same with kubewright's queue.
func measureQueue(which, count string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	keys := makeKeys(number)
	var figures []float64
	switch which {
	case "one-thread":
		figures = oneThread(keys)
	case "one-and-one":
		figures = producersAndConsumers(keys, 1, false)
	case "four-and-four":
		figures = producersAndConsumers(keys, 4, false)
	case "rate-limited":
		figures = producersAndConsumers(keys, 1, true)
	case "waiting":
		figures, err = bytesPerKey(keys, newQueue(nil), func(q queue, key name) { q.Add(key) })
	case "waiting-metered":
		figures, err = bytesPerKey(keys, newQueue(enabledMetrics{}), func(q queue, key name) { q.Add(key) })
	case "delayed":
		figures, err = bytesPerKey(keys, newQueue(nil), func(q queue, key name) { q.AddAfter(key, time.Hour) })
	case "late":
		figures = lateness(keys)
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

func makeKeys(count int) []name {
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

// stopwatch measures CPU time and wall-clock time from its start.
type stopwatch struct {
	clock time.Time
	cpu   uint64
}

func start() stopwatch {
	return stopwatch{time.Now(), cpuNanos()}
}

// perKey returns CPU nanoseconds and wall-clock nanoseconds per key.
func (s stopwatch) perKey(keys []name) []float64 {
	clock := time.Since(s.clock).Nanoseconds()
	count := float64(len(keys))
	return []float64{float64(cpuNanos()-s.cpu) / count, float64(clock) / count}
}

// cpuNanos returns the CPU time of all threads of this process, in nanoseconds.
func cpuNanos() uint64 {
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
	for batch := range slices.Chunk(keys, batchKeys) {
		for _, key := range batch {
			q.Add(key)
		}
		for range batch {
			key, _ := q.Get()
			q.Done(key)
		}
	}
	return watch.perKey(keys)
}

// producersAndConsumers runs size producers and size consumers, as goroutines.
func producersAndConsumers(keys []name, size int, rateLimited bool) []float64 {
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
				if rateLimited {
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
				if rateLimited {
					q.AddRateLimited(key)
				} else {
					q.Add(key)
				}
			}
		})
	}
	producers.Wait()
	handled.Wait()
	figures := watch.perKey(keys)
	q.ShutDown()
	consumers.Wait()
	return figures
}

// bytesPerKey returns the bytes of live heap per key, without garbage and without memory that the collector keeps in reserve.
func bytesPerKey(keys []name, q queue, add func(queue, name)) ([]float64, error) {
	before := liveBytes()
	for _, key := range keys {
		add(q, key)
	}
	// The delaying queue receives keys through a channel; wait until it has received them.
	time.Sleep(time.Second)
	after := liveBytes()
	q.ShutDown()
	runtime.KeepAlive(keys)
	return []float64{float64(after-before) / float64(len(keys))}, nil
}

func liveBytes() uint64 {
	runtime.GC()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// lateness returns by how many milliseconds keys are handed out late, with all keys due within one second.
func lateness(keys []name) []float64 {
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

// enabledMetrics are metrics that do nothing: they cost only what the queue itself keeps for metrics.
type enabledMetrics struct{}

type noOpMetric struct{}

func (noOpMetric) Inc()            {}
func (noOpMetric) Dec()            {}
func (noOpMetric) Set(float64)     {}
func (noOpMetric) Observe(float64) {}

func (enabledMetrics) NewDepthMetric(string) workqueue.GaugeMetric       { return noOpMetric{} }
func (enabledMetrics) NewAddsMetric(string) workqueue.CounterMetric      { return noOpMetric{} }
func (enabledMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return noOpMetric{} }
func (enabledMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return noOpMetric{}
}
func (enabledMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return noOpMetric{}
}
func (enabledMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return noOpMetric{}
}
func (enabledMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return noOpMetric{} }
