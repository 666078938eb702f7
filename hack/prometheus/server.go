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

package prometheus

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// readyTimeout is how long a start may take.
const readyTimeout = time.Minute

// serve runs a server until stop, which waits for its end. It returns once the server answers to a path of its address.
func serve(ctx context.Context, cmd func(context.Context) *exec.Cmd, address, path string) (stop func(), err error) {
	running, cancel := context.WithCancel(ctx)
	server := cmd(running)
	if err := server.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", server.Path, err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Wait()
		close(ended)
	}()
	stop = func() {
		cancel()
		for range ended { // until it is closed
		}
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("it ended: %w", err)
		default:
			return answers(ctx, address+path), nil
		}
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("start %s: %w", server.Path, err)
	}
	return stop, nil
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
