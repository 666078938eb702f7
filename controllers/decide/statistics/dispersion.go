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

package statistics

// dispersion measures how much more than by chance the counts of old pods vary: Pearson's chi-square by its degrees of freedom.
type dispersion struct {
	// squares and freedom are those of the pods within each look, which any common pattern in time leaves alone.
	squares, freedom float64
	// timed, weighted and looks are of the pods together from look to look, total also has what long looks counted.
	timed, total    Count
	weighted, looks float64
	// pods are what each pod counted so far, with what was expected of it in place of the exposure, at their places. The order of a sum is
	// fixed, so that it is the same whoever computes it.
	pods   []Count
	places places
}

// add adds the usable counts of the old pods in a look, which are so much together, as if there had been that share of the events: within is their chi-square.
// A look that is longer than the last ones only says how pods differ for good: the more events a look has, the more they seem to vary in it.
func (d *dispersion) add(counts []Count, look Count, weight float64, within chiSquare, isLong bool) {
	look.Bad *= weight
	if look.Total == 0 {
		return
	}
	d.total = d.total.plus(look)
	if !isLong {
		d.timed = d.timed.plus(look)
		d.weighted += look.Bad / look.Total * look.Bad
		d.looks++
		d.squares, d.freedom = d.squares+within.squares, d.freedom+within.freedom
	}
	if look.Bad == 0 {
		return
	}
	rate := look.rate()
	for i := range counts {
		c := Count{Bad: counts[i].Bad * weight, Total: counts[i].Total}
		if weight < 1 && !c.usable() {
			continue
		}
		place := d.places.of(counts[i].Pod)
		if place == len(d.pods) {
			d.pods = append(d.pods, Count{})
		}
		pod := &d.pods[place]
		pod.Bad, pod.Total = pod.Bad+c.Bad, pod.Total+c.Total*rate
	}
}

// chiSquare is Pearson's chi-square of the pods in a look, with its degrees of freedom.
type chiSquare struct{ squares, freedom float64 }

// chiSquareOf returns the chi-square of pods by their usable counts, which are so much together in a look. They are taken as if there had been that share
// of the events. It is 0 without events.
func chiSquareOf(counts []Count, look Count, weight float64) chiSquare {
	if look.Bad *= weight; look.Bad == 0 {
		return chiSquare{}
	}
	var weighted, pods float64
	for i := range counts {
		c := Count{Bad: counts[i].Bad * weight, Total: counts[i].Total}
		if weight < 1 && !c.usable() {
			continue
		}
		weighted += c.Bad / c.Total * c.Bad
		pods++
	}
	return chiSquare{max(0, weighted/look.rate()-look.Bad) + (1-weight)*(pods-1), pods - 1} // with what is left of chance
}

// clearly returns the dispersion in the look, 1 if it isn't clearly more than by chance.
func (c chiSquare) clearly() float64 {
	if c.freedom == 0 || c.squares < raggedLook*c.freedom {
		return 1
	}
	return c.squares / c.freedom
}

// factor returns the dispersion of the old pods, at least 1: within looks, or the lasting one of pods that differ all the time, which adds up from look
// to look. The latter must be twice as great, as with few pods it may be by chance.
func (d *dispersion) factor(lasting float64) float64 {
	within := d.inTime()
	if d.freedom > 0 {
		within = max(1, d.squares/d.freedom)
	}
	if lasting > 2*within {
		return lasting
	}
	return within
}

// lasting returns the dispersion of what the pods counted until now. As many pods as there are too few to tell are taken to differ.
func (d *dispersion) lasting() float64 {
	if len(d.pods) == 0 {
		return 1
	}
	squares, pods := 0.0, float64(len(d.pods))
	for _, p := range d.pods {
		squares += (p.Bad - p.Total) * (p.Bad - p.Total) / p.Total
	}
	unknown := max(0, tellingPods-pods)
	return (squares + unknown*(1+podVariation*podVariation*d.total.Bad/pods)) / (pods - 1 + unknown)
}

// inTime returns the dispersion from look to look, at least 1.
func (d *dispersion) inTime() float64 {
	if d.looks < 2 || d.timed.Bad == 0 {
		return 1
	}
	return max(1, (d.weighted/d.timed.rate()-d.timed.Bad)/(d.looks-1))
}
