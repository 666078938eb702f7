/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Statistics prints findings of package statistics as JSON, with what they were computed from. check.py computes them again with other
// people's libraries: `make check-statistics`.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// never is a share of the budget that no evidence reaches, so that all looks are taken.
const never = 1e-300

// output is what check.py reads. Infinities and NaN aren't JSON, so numbers that may be one are left out.
type output struct {
	Seed       uint64      `json:"seed"`
	Concurrent []count     `json:"concurrent"`
	Before     []count     `json:"before"`
	Dispersion []dispersed `json:"dispersion"`
	Gauges     []gauge     `json:"gauges"`
	Rare       []rare      `json:"rare"`
}

// count is events of a new pod in each look, beside the same number y of events on each of the old pods.
type count struct {
	News     []float64 `json:"news"`
	Y        float64   `json:"y"`
	Pods     int       `json:"pods"`
	E        float64   `json:"e"`
	F        float64   `json:"f"`
	Share    float64   `json:"share"`
	Evidence float64   `json:"evidence"`
}

type dispersed struct {
	Olds       [][]float64 `json:"olds"`
	Dispersion float64     `json:"dispersion"`
}

type gauge struct {
	News        []float64 `json:"news"`
	Olds        []float64 `json:"olds"`
	Tolerance   float64   `json:"tolerance"`
	P           float64   `json:"p"`
	Superiority float64   `json:"superiority"`
}

type rare struct {
	X float64 `json:"x"`
	E float64 `json:"e"`
	Y float64 `json:"y"`
	F float64 `json:"f"`
	P float64 `json:"p"`
}

func main() {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	out := output{Seed: seed}
	for range 20 {
		out.Concurrent = append(out.Concurrent, concurrent(random))
		out.Before = append(out.Before, before(random))
		out.Dispersion = append(out.Dispersion, dispersion(random))
		out.Rare = append(out.Rare, restarts(random))
	}
	for _, pods := range [][2]int{{7, 3}, {5, 5}, {4, 7}, {20, 3}, {30, 12}} {
		for range 4 {
			out.Gauges = append(out.Gauges, usage(random, pods[0], pods[1]))
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(out); err != nil {
		log.Fatalf("write the findings: %v", err)
	}
}

// settings pass nothing early but by the ratio.
func settings() statistics.Settings {
	s := statistics.Defaults()
	s.MinDelta = 0
	return s
}

func poisson(random *rand.Rand, mean float64) float64 {
	return distuv.Poisson{Lambda: mean, Src: random}.Rand()
}

// news returns the events of each look, and looks with them. They are few, so that the evidence of no look is capped.
func (c *count) looks(random *rand.Rand, olds bool) (looks []statistics.Look) {
	for range 8 {
		bad := poisson(random, 0.6)
		c.News = append(c.News, bad)
		look := statistics.Look{Time: time.Minute, NewPods: 1, New: []statistics.Count{{Pod: "new", Bad: bad, Total: c.E}}}
		for i := range c.Pods {
			if olds {
				look.OldPods = c.Pods
				look.Old = append(look.Old, statistics.Count{Pod: fmt.Sprint(i), Bad: c.Y, Total: c.F})
			}
		}
		looks = append(looks, look)
	}
	return looks
}

func concurrent(random *rand.Rand) count {
	c := count{Y: 1, Pods: 5, E: 100 + 100*random.Float64(), F: 200, Share: never}
	f := statistics.Concurrent(c.looks(random, true), settings(), c.Share, false)
	c.Evidence, c.News = f.Evidence, c.News[:f.Looks]
	return c
}

func before(random *rand.Rand) count {
	c := count{Y: 1, Pods: 5, E: 50 + 50*random.Float64(), F: 100, Share: 0.01}
	var history []statistics.Look
	for range 30 {
		look := statistics.Look{OldPods: c.Pods}
		for i := range c.Pods {
			look.Old = append(look.Old, statistics.Count{Pod: fmt.Sprint(i), Bad: c.Y, Total: c.F})
		}
		history = append(history, look)
	}
	f := statistics.Before(history, c.looks(random, false), settings(), c.Share, false)
	c.Evidence, c.News = f.Evidence, c.News[:f.Looks]
	return c
}

// dispersion returns the dispersion of eight old pods in twelve looks. Their events are few, so that no look has unusually many.
func dispersion(random *rand.Rand) dispersed {
	var d dispersed
	var looks []statistics.Look
	for range 12 {
		look, bads := statistics.Look{NewPods: 1, OldPods: 8, New: []statistics.Count{{Pod: "new", Total: 100}}}, []float64{}
		for i := range look.OldPods {
			bad := poisson(random, distuv.Gamma{Alpha: 1, Beta: 1.1, Src: random}.Rand())
			bads = append(bads, bad)
			look.Old = append(look.Old, statistics.Count{Pod: fmt.Sprint(i), Bad: bad, Total: 100})
		}
		d.Olds, looks = append(d.Olds, bads), append(looks, look)
	}
	f := statistics.Concurrent(looks, settings(), never, false)
	d.Dispersion, d.Olds = f.Dispersion, d.Olds[:f.Looks]
	return d
}

func usage(random *rand.Rand, olds, news int) gauge {
	g := gauge{Tolerance: 1.2}
	pods := func(n int, mean float64, values *[]float64) (gauges []statistics.Gauge) {
		for range n {
			// Whole numbers, so that some are equal.
			value := float64(int(mean + 15*random.NormFloat64()))
			*values = append(*values, value)
			gauges = append(gauges, statistics.Gauge{Values: []float64{value - 1, value, value + 7}})
		}
		return gauges
	}
	oldPods, newPods := pods(olds, 100, &g.Olds), pods(news, 130, &g.News)
	f := statistics.Gauges(newPods, oldPods, statistics.GaugeSettings{Tolerance: g.Tolerance, MinDelta: -1000}, 0.01, true)
	g.P, g.Superiority = f.PValue, f.Superiority
	return g
}

func restarts(random *rand.Rand) rare {
	r := rare{X: 1 + poisson(random, 1), E: 5 + 50*random.Float64(), Y: poisson(random, 4), F: 5000 * random.Float64()}
	r.P = statistics.Rare(statistics.Lives{Events: r.X, Minutes: r.E}, statistics.Lives{Events: r.Y, Minutes: r.F}, statistics.Lives{}, 0, 0.005).PValue
	return r
}
