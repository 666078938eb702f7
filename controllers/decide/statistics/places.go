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

// places numbers pods by their names, in the order in which they come first. Most looks have the same pods in the same order, so the one after
// the last is tried before the map.
type places struct {
	names []string
	known map[string]int
	next  int
}

// of returns the place of a pod: that of a new one is the number of those before it.
func (p *places) of(name string) int {
	if p.next >= len(p.names) {
		p.next = 0
	}
	if p.next < len(p.names) && p.names[p.next] == name {
		p.next++
		return p.next - 1
	}
	place, found := p.known[name]
	if !found {
		if p.known == nil {
			p.known = map[string]int{}
		}
		place = len(p.names)
		p.known[name], p.names = place, append(p.names, name)
	}
	p.next = place + 1
	return place
}
