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

package altershield

import (
	"net/http"
	"strings"
	"time"
)

const (
	// skipAuth is the setting that makes the server accept calls with any signature.
	skipAuth = "SKIP_OPEN_API_AUTH"
	// configPeriod is how often the server rereads its settings.
	configPeriod = 10 * time.Second
	// missPeriod is how long the server remembers that a scene doesn't exist.
	missPeriod = 20 * time.Second
)

// setting is a setting whose changes take effect with a delay.
type setting struct {
	on, next bool
	from     time.Time
}

func (s *setting) at(now time.Time) bool {
	if s.on != s.next && !now.Before(s.from) {
		s.on = s.next
	}
	return s.on
}

// configRequest is a setting as the server's console sends it.
type configRequest struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"cfgDesc"`
}

// createConfig is a control endpoint without authentication.
func (s *Server) createConfig(w http.ResponseWriter, r *http.Request) {
	var given configRequest
	switch err := read(r, &given); {
	case err != nil:
		unreadable(err).write(w)
	case given.Name == "" || given.Value == "" || given.Description == "":
		refusal(codeIllegalArgument, "name, value and cfgDesc must not be blank").write(w)
	default:
		if given.Name == skipAuth {
			s.mu.Lock()
			s.skipAuth.next, s.skipAuth.from = strings.EqualFold(given.Value, "true"), s.options.Now().Add(configPeriod)
			s.mu.Unlock()
		}
		success(true).write(w)
	}
}

func (s *Server) skipsAuth() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skipAuth.at(s.options.Now())
}

// CreateScene creates the scene of a server that was started without one.
func (s *Server) CreateScene() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasScene = true
}

// knows reports whether a scene is known. A scene that was requested before it existed stays unknown for a while. The caller holds the lock.
func (s *Server) knows(scene string) bool {
	now := s.options.Now()
	switch {
	case scene != s.options.Scene || now.Before(s.missedUntil):
		return false
	case !s.hasScene:
		s.missedUntil = now.Add(missPeriod)
	}
	return s.hasScene
}
