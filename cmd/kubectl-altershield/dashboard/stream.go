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

package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// pause is how long changes are collected before they are sent: a rollout writes a record several times a second.
const pause = 100 * time.Millisecond

// maxChanged is how many changed workloads are kept for a slow browser.
const maxChanged = 2000

// stream answers with the present releases and their changes, one JSON object a line, until the browser leaves.
func (s *server) stream(writer http.ResponseWriter, request *http.Request) {
	query := queryOf(request.URL.Query())
	if err := query.validate(false); err != nil {
		refuse(writer, Failure{http.StatusBadRequest, Invalid, err.Error()})
		return
	}
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		refuse(writer, Failure{http.StatusTooManyRequests, TooMany, "too many pages are open: close one"})
		return
	}
	defer s.streams.Add(-1)
	ctx, cancel := context.WithCancel(request.Context())
	feed := newFeed(s.maxChanged)
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- s.backend.Follow(ctx, query.Namespace, feed)
	}()
	out := &lines{writer: writer, control: http.NewResponseController(writer)}
	s.send(ctx, out, feed, ended)
	cancel()
	for range ended { // the watch must not outlive the stream
	}
}

// send writes lines until the browser leaves, which cancels the context, or until following has ended.
func (s *server) send(ctx context.Context, out *lines, feed *feed, ended <-chan error) {
	beat := s.clock.NewTicker(beatInterval)
	defer beat.Stop()
	for {
		var ready []line
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			switch {
			case ctx.Err() != nil:
			case out.begun:
				_ = out.write([]line{{Type: resyncLine}}) // the page is gone otherwise
			default:
				extend(out.control) // the first list has had its own time
				refuse(out.writer, s.backend.Explain(err))
			}
			return
		case <-feed.ready:
			ready = feed.take(s.now())
		case <-beat.C():
			if out.begun && feed.isFresh() {
				ready = []line{{Type: beatLine, Now: s.now()}}
			}
		}
		if err := out.write(ready); err != nil || len(ready) > 0 && ready[len(ready)-1].Type == resyncLine {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(pause):
		}
	}
}

// extend gives a browser anew its time to take what is written. The deadline of a connection is by the clock of the machine.
func extend(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder in a test has none
}

// lines writes a stream.
type lines struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// write writes lines in a time that ends a stream whose browser takes nothing.
func (l *lines) write(lines []line) error {
	if len(lines) == 0 {
		return nil
	}
	if !l.begun {
		l.begun = true
		l.writer.Header().Set("Content-Type", "application/x-ndjson")
	}
	extend(l.control)
	encoder := json.NewEncoder(l.writer)
	for i := range lines {
		if err := encoder.Encode(&lines[i]); err != nil {
			return err
		}
	}
	return l.control.Flush()
}
