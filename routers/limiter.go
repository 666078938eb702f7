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
	// maxRequests is the number of unauthenticated requests that are handled at once. Further ones wait, as AlterShield Server
	// doesn't repeat a callback that is rejected.
	maxRequests = 64
	// maxPerAddress is the share of one address, which leaves the rest to callers elsewhere.
	maxPerAddress = maxRequests / 4
	maxWait       = 3 * time.Second
	// trustedFor is the time for which the address of an authentic request is remembered, maxTrusted the number of addresses.
	trustedFor = time.Hour
	maxTrusted = 64
)

// limiter limits concurrent requests. Addresses that sent an authentic request have a semaphore of their own, so that
// unauthenticated callers can't block them.
type limiter struct {
	unauthenticated, trusted *semaphore

	mutex    sync.Mutex
	lastSeen map[string]time.Time // of the last authentic request, by address
}

func newLimiter() *limiter {
	return &limiter{unauthenticated: newSemaphore(), trusted: newSemaphore(), lastSeen: map[string]time.Time{}}
}

// acquire waits for a place. It waits even if the caller is gone, as its message counts all the same. Both functions release the
// place and may be called repeatedly; authenticated also trusts the address.
func (l *limiter) acquire(request *http.Request) (release, authenticated func(), acquired bool) {
	address, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		address = request.RemoteAddr
	}
	semaphore := l.unauthenticated
	if l.isTrusted(address) {
		semaphore = l.trusted
	}
	release, acquired = semaphore.acquire(address)
	return release, func() { l.trust(address); release() }, acquired
}

func (l *limiter) isTrusted(address string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	seen, known := l.lastSeen[address]
	return known && time.Since(seen) < trustedFor
}

// trust remembers an address. Beyond the maximum it forgets the one that was seen least recently.
func (l *limiter) trust(address string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lastSeen[address] = time.Now()
	if len(l.lastSeen) <= maxTrusted {
		return
	}
	oldest := address
	for other, seen := range l.lastSeen {
		if seen.Before(l.lastSeen[oldest]) {
			oldest = other
		}
	}
	delete(l.lastSeen, oldest)
}

// semaphore has places for requests, and a share of them for each address.
type semaphore struct {
	places chan struct{}

	mutex  sync.Mutex
	shares map[string]*share
}

// share is the share of one address; requests counts its requests, including waiting ones.
type share struct {
	places   chan struct{}
	requests int
}

func newSemaphore() *semaphore {
	return &semaphore{places: make(chan struct{}, maxRequests), shares: map[string]*share{}}
}

func (s *semaphore) acquire(address string) (release func(), acquired bool) {
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	own := s.join(address)
	select {
	case own.places <- struct{}{}:
	case <-timeout.C:
		s.leave(address, own)
		return nil, false
	}
	select {
	case s.places <- struct{}{}:
	case <-timeout.C:
		<-own.places
		s.leave(address, own)
		return nil, false
	}
	return sync.OnceFunc(func() {
		<-s.places
		<-own.places
		s.leave(address, own)
	}), true
}

func (s *semaphore) join(address string) *share {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	own, known := s.shares[address]
	if !known {
		own = &share{places: make(chan struct{}, maxPerAddress)}
		s.shares[address] = own
	}
	own.requests++
	return own
}

func (s *semaphore) leave(address string, own *share) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if own.requests--; own.requests == 0 {
		delete(s.shares, address)
	}
}
