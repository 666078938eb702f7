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

package routers

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStrangers are requests that are answered at once of callers who are not known yet. A request beyond them waits, as
	// AlterShield Server doesn't send a callback again that is turned away.
	maxStrangers = 64
	// maxOfAddress are those of one address: others of it don't take the room of callers elsewhere.
	maxOfAddress = maxStrangers / 4
	maxWait      = 3 * time.Second
	// regularFor is how long a caller who proved to be genuine is expected to come again from the same address, and maxRegulars
	// are how many addresses are remembered.
	regularFor  = time.Hour
	maxRegulars = 64
)

// lobby lets requests in. Those of addresses that a genuine request came from have a room of their own, so that strangers
// can't keep them out, however many they are.
type lobby struct {
	strangers, regulars *room

	mutex sync.Mutex
	since map[string]time.Time // when the last genuine request of an address came
}

func newLobby() *lobby {
	return &lobby{strangers: newRoom(), regulars: newRoom(), since: map[string]time.Time{}}
}

// enter waits for room, and doesn't care whether the caller is still there: what it brings counts all the same. Both
// functions end the stay, and may be called more than once; known remembers the address besides.
func (l *lobby) enter(request *http.Request) (leave, known func(), entered bool) {
	address, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		address = request.RemoteAddr
	}
	room := l.strangers
	if l.isRegular(address) {
		room = l.regulars
	}
	leave, entered = room.enter(address)
	return leave, func() { l.welcome(address); leave() }, entered
}

func (l *lobby) isRegular(address string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	since, known := l.since[address]
	return known && time.Since(since) < regularFor
}

// welcome remembers an address, in the place of the one that was not heard of for longest if there are too many.
func (l *lobby) welcome(address string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.since[address] = time.Now()
	if len(l.since) <= maxRegulars {
		return
	}
	oldest := address
	for other, since := range l.since {
		if since.Before(l.since[oldest]) {
			oldest = other
		}
	}
	delete(l.since, oldest)
}

// room has places for requests, and a share of them for each address.
type room struct {
	places chan struct{}

	mutex  sync.Mutex
	shares map[string]*share
}

// share is what one address may take up; users are its requests, those that wait included.
type share struct {
	places chan struct{}
	users  int
}

func newRoom() *room {
	return &room{places: make(chan struct{}, maxStrangers), shares: map[string]*share{}}
}

func (r *room) enter(address string) (leave func(), entered bool) {
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	own := r.join(address)
	select {
	case own.places <- struct{}{}:
	case <-timeout.C:
		r.part(address, own)
		return nil, false
	}
	select {
	case r.places <- struct{}{}:
	case <-timeout.C:
		<-own.places
		r.part(address, own)
		return nil, false
	}
	return sync.OnceFunc(func() {
		<-r.places
		<-own.places
		r.part(address, own)
	}), true
}

func (r *room) join(address string) *share {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	own, known := r.shares[address]
	if !known {
		own = &share{places: make(chan struct{}, maxOfAddress)}
		r.shares[address] = own
	}
	own.users++
	return own
}

func (r *room) part(address string, own *share) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if own.users--; own.users == 0 {
		delete(r.shares, address)
	}
}
