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

package cluster

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	loopback = "127.0.0.1"
	// serviceRange holds the addresses of Services; the first is the API server's.
	serviceRange, apiServerService = "10.96.0.0/16", "10.96.0.1"
	// kubeletClient is the name of the certificate that the API server presents to kubelets.
	kubeletClient = "apiserver-kubelet-client"
	// frontProxy is the name of the certificate that the API server presents to the servers of aggregated APIs, such as metrics-server.
	frontProxy = "front-proxy-client"
	// Names in the cluster's folder.
	etcdData        = "etcd"
	pki             = "pki"
	stagesFile      = "stages.yaml"
	schedulerFile   = "scheduler.yaml"
	volumePlugins   = "volume-plugins"
	auditPolicyFile = "audit-policy.yaml"
	auditLog        = "audit.log"
)

//go:embed stages
var stages embed.FS

// auditPolicy logs the metadata of all writes, and of all requests of one user. Further rules add bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
%s- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: Metadata
  users: [%q]
- level: None
`

// auditObjects logs whole Deployments, records and statuses of pods, and everything that one user writes, except Events.
const auditObjects = `- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - {group: apps, resources: [deployments, statefulsets, daemonsets]}
  - {group: lab.altershield.io}
  - {group: app.ops.cloud.alipay.com}
  - {group: "", resources: [pods/status]}
- level: RequestResponse
  verbs: [delete]
  resources:
  - {group: "", resources: [pods]}
- level: RequestResponse
  verbs: [create, update, patch, delete]
  users: [%q]
  resources:
  - {group: apps}
  - {group: ""}
`

// component is a part of the control plane.
type component struct {
	name string
	args []string
	env  []string
	// health is the URL that answers 200 once the part is ready, "" if there is none.
	health string
}

// componentNames returns the names of the parts in the order of their start.
func componentNames() []string {
	return []string{assets.Etcd, assets.APIServer, assets.ControllerManager, assets.Scheduler, assets.KWOK}
}

// components returns the parts in the order of their start.
func (c *Cluster) components() []component {
	parts := []component{c.etcd(), c.apiServer(), c.controllerManager(), c.scheduler()}
	if c.options.Real == nil {
		parts = append(parts, c.kwok())
	}
	return parts
}

func (c *Cluster) serverURL() string { return "https://" + address(c.options.Ports.APIServer) }

func (c *Cluster) etcd() component {
	client, peer := "http://"+address(c.options.Ports.EtcdClient), "http://"+address(c.options.Ports.EtcdPeer)
	return component{name: assets.Etcd, health: client + "/health", args: []string{
		"--name=local",
		"--data-dir=" + c.path(etcdData),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		// The data of a local cluster needn't survive a power cut, and syncing every write makes it several times slower.
		"--unsafe-no-fsync",
	}}
}

func (c *Cluster) apiServer() component {
	args := []string{
		"--etcd-servers=http://" + address(c.options.Ports.EtcdClient),
		"--secure-port=" + strconv.Itoa(c.options.Ports.APIServer),
		"--service-cluster-ip-range=" + serviceRange,
		"--client-ca-file=" + c.path(pki, "ca.crt"),
		"--tls-cert-file=" + c.path(pki, "apiserver.crt"),
		"--tls-private-key-file=" + c.path(pki, "apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.path(pki, "service-accounts.pub"),
		"--service-account-signing-key-file=" + c.path(pki, "service-accounts.key"),
		"--authorization-mode=Node,RBAC",
		// Some distributions enable it: it requires permissions on finalizers whose absence nothing else shows.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--allow-privileged=true",
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
	}
	args = append(args, c.nodesArgs()...)
	if c.options.AuditLog {
		args = append(args,
			"--audit-policy-file="+c.path(auditPolicyFile),
			"--audit-log-path="+c.path(auditLog),
			"--audit-log-maxsize=4000", // megabytes: one file, so that writes can be counted
			"--audit-log-maxbackup=1")
	}
	return component{name: assets.APIServer, health: c.serverURL() + "/readyz", args: args}
}

// nodesArgs returns the arguments of the API server that depend on the kind of nodes.
func (c *Cluster) nodesArgs() []string {
	if c.options.Real == nil {
		return []string{
			"--bind-address=" + loopback,
			"--advertise-address=" + loopback,
			// A loopback address can't be an endpoint of the Service "kubernetes"; fake pods don't use it anyway.
			"--endpoint-reconciler-type=none",
		}
	}
	return []string{
		"--bind-address=0.0.0.0",
		"--advertise-address=" + c.options.Real.Address,
		"--kubelet-client-certificate=" + c.path(pki, kubeletClient+".crt"),
		"--kubelet-client-key=" + c.path(pki, kubeletClient+".key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--proxy-client-cert-file=" + c.path(pki, frontProxy+".crt"),
		"--proxy-client-key-file=" + c.path(pki, frontProxy+".key"),
		// The servers of aggregated APIs read these from a ConfigMap.
		"--requestheader-client-ca-file=" + c.path(pki, "ca.crt"),
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--enable-admission-plugins=NodeRestriction",
	}
}

// addresses returns the addresses of the API server besides loopback.
func (c *Cluster) addresses() []string {
	if c.options.Real == nil {
		return nil
	}
	return []string{c.options.Real.Address, apiServerService}
}

func (c *Cluster) controllerManager() component {
	port := c.options.Ports.ControllerManager
	return component{name: assets.ControllerManager, health: "https://" + address(port) + "/healthz", args: []string{
		"--kubeconfig=" + c.path(pki, assets.ControllerManager+".kubeconfig"),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.path(pki, "apiserver.crt"),
		"--tls-private-key-file=" + c.path(pki, "apiserver.key"),
		"--root-ca-file=" + c.path(pki, "ca.crt"),
		"--service-account-private-key-file=" + c.path(pki, "service-accounts.key"),
		"--use-service-account-credentials=true",
		// It creates this folder; the default one belongs to the machine.
		"--flex-volume-plugin-dir=" + c.path(volumePlugins),
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
	}}
}

func (c *Cluster) scheduler() component {
	port := c.options.Ports.Scheduler
	return component{name: assets.Scheduler, health: "https://" + address(port) + "/healthz", args: []string{
		"--config=" + c.path(schedulerFile),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.path(pki, "apiserver.crt"),
		"--tls-private-key-file=" + c.path(pki, "apiserver.key"),
	}}
}

// schedulerConfig returns the scheduler's configuration: its flag for the rate limit is deprecated.
func (c *Cluster) schedulerConfig() string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 500, burst: 1000}
`, c.path(pki, assets.Scheduler+".kubeconfig"))
}

func (c *Cluster) kwok() component {
	// The variable prevents it from reading the user's own configuration.
	return component{name: assets.KWOK, env: []string{"KWOK_WORKDIR=" + c.options.Dir}, args: []string{
		"--kubeconfig=" + c.path(pki, assets.KWOK+".kubeconfig"),
		"--config=" + c.path(stagesFile),
		"--manage-all-nodes=true",
		// Without leases the node controller marks every node as unreachable after 40 s.
		"--node-lease-duration-seconds=40",
		"--cidr=10.128.0.0/9",
		"--server-address=",
		"--node-port=0", // no kubelet server
	}}
}

// writeState writes the files that the parts read.
func (c *Cluster) writeState() error {
	if err := os.MkdirAll(c.options.Dir, 0o700); err != nil {
		return err
	}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	allStages, err := joinStages()
	if err != nil {
		return err
	}
	return writeFiles(map[string][]byte{
		c.path(stagesFile):      allStages,
		c.path(schedulerFile):   []byte(c.schedulerConfig()),
		c.path(auditPolicyFile): []byte(c.auditRules()),
	})
}

func (c *Cluster) auditRules() string {
	objects := ""
	if c.options.AuditObjects {
		objects = fmt.Sprintf(auditObjects, c.options.AuditReadsOf)
	}
	return fmt.Sprintf(auditPolicy, objects, c.options.AuditReadsOf)
}

func joinStages() ([]byte, error) {
	var all []byte
	files, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := stages.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), content...)
	}
	return all, nil
}

// startComponents starts the parts that don't run yet, each once the previous one is ready.
func (c *Cluster) startComponents(ctx context.Context) error {
	for _, part := range c.components() {
		if err := c.start(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// start starts a part, unless it runs with the same arguments, and waits until it is ready.
func (c *Cluster) start(ctx context.Context, part component) error {
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := c.ensureRunning(ctx, part); err != nil || part.health == "" {
		return err
	}
	return c.await(ctx, part.name+" to be ready", process.Answers(client, part.health))
}

// ensureRunning starts a part unless it runs with the same arguments.
func (c *Cluster) ensureRunning(ctx context.Context, part component) error {
	argv := append([]string{c.options.Assets.Path(part.name)}, part.args...)
	p, err := process.Find(c.options.Dir, part.name)
	if err != nil {
		return err
	}
	if p != nil && slices.Equal(p.Argv(), argv) {
		c.processes = append(c.processes, p)
		return nil
	}
	if p != nil {
		c.logf("%s runs with other arguments: stopping it", part.name)
		if err := p.Stop(ctx, stopGrace); err != nil {
			return err
		}
	}
	c.logf("starting %s", part.name)
	spec := process.Spec{Dir: c.options.Dir, Name: part.name, Argv: argv, Env: part.env, Detached: c.options.Detached}
	if p, err = process.Start(spec); err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	c.started = append(c.started, p)
	return nil
}

func address(port int) string { return loopback + ":" + strconv.Itoa(port) }
