// SPDX-License-Identifier: Apache-2.0

// Command reference is a DRA kubelet plugin for the simulated Trainium node, built the way the known
// DRA drivers are: kubeletplugin for the kubelet's side, client-go for the API server's, the kubelet's
// checkpoint manager for what was prepared, the CDI library for the files of the container runtime.
// It is what `make bench` measures the agent against. It never does more work than those drivers do, and
// leaves out what costs them time or size without being asked for here: client-side rate limits, metrics,
// health ports, a watcher on the CDI directory, flag and logging frameworks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"
)

const driverName = "neuron.aws.com"

type options struct {
	nodeName, kubeconfig, cdiRoot, registrarDir, pluginsDir, sysfsRoot, devRoot string
}

func readOptions() (o options) {
	flag.StringVar(&o.nodeName, "node-name", "", "Kubernetes node name, also the pool name")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	flag.StringVar(&o.cdiRoot, "cdi-root", "/var/run/cdi", "directory of CDI files")
	flag.StringVar(&o.registrarDir, "kubelet-registrar-directory-path", kubeletplugin.KubeletRegistryDir,
		"directory of the registration socket")
	flag.StringVar(&o.pluginsDir, "kubelet-plugins-directory-path", kubeletplugin.KubeletPluginsDir,
		"directory above that of the service socket and the checkpoint")
	flag.StringVar(&o.sysfsRoot, "sysfs-root", "/sys", "sysfs")
	flag.StringVar(&o.devRoot, "dev-root", "/dev", "where device nodes lie on the host")
	flag.Parse()
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, readOptions()); err != nil {
		fmt.Fprintf(os.Stderr, "reference: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	client, err := newClient(o.kubeconfig)
	if err != nil {
		return fmt.Errorf("API client: %w", err)
	}
	pluginDir := filepath.Join(o.pluginsDir, driverName)
	if err := os.MkdirAll(pluginDir, 0o750); err != nil {
		return err
	}
	found, err := discover(o.sysfsRoot)
	if err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	state, err := newState(pluginDir, o.cdiRoot, o.devRoot, found)
	if err != nil {
		return err
	}
	plugin := &driver{state: state}
	helper, err := kubeletplugin.Start(ctx, plugin,
		kubeletplugin.KubeClient(client),
		kubeletplugin.NodeName(o.nodeName),
		kubeletplugin.DriverName(driverName),
		kubeletplugin.RegistrarDirectoryPath(o.registrarDir),
		kubeletplugin.PluginDataDirectoryPath(pluginDir),
	)
	if err != nil {
		return fmt.Errorf("kubelet plugin: %w", err)
	}
	defer helper.Stop()
	if err := publish(ctx, helper, client, o.nodeName, found); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	<-ctx.Done()
	return nil
}

// newClient makes a client without the limit of 5 requests a second that the known drivers ship with.
func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}

// publish hands all devices to the slice controller; the node's labels give the network layers.
func publish(ctx context.Context, helper *kubeletplugin.Helper, client kubernetes.Interface, nodeName string,
	found *node) error {
	labels, err := client.CoreV1().Nodes().Get(ctx, nodeName, meta.GetOptions{})
	if err != nil {
		return err
	}
	return helper.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		nodeName: {Slices: []resourceslice.Slice{{Devices: found.devices(labels.Labels)}}},
	}})
}

// driver answers the helper's calls.
type driver struct {
	state *state
}

func (d *driver) PrepareResourceClaims(ctx context.Context, claims []*resource.ResourceClaim) (
	map[types.UID]kubeletplugin.PrepareResult, error) {
	results := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	for _, claim := range claims {
		devices, err := d.state.prepare(ctx, claim)
		if err != nil {
			err = fmt.Errorf("prepare claim %s/%s: %w", claim.Namespace, claim.Name, err)
			klog.FromContext(ctx).Error(err, "Claim refused", "uid", claim.UID)
		}
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
	}
	return results, nil
}

func (d *driver) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (
	map[types.UID]error, error) {
	results := make(map[types.UID]error, len(claims))
	for _, claim := range claims {
		results[claim.UID] = d.state.unprepare(string(claim.UID))
		klog.FromContext(ctx).Info("Unprepared", "namespace", claim.Namespace, "claim", claim.Name, "uid", claim.UID)
	}
	return results, nil
}

func (d *driver) HandleError(ctx context.Context, err error, msg string) {
	klog.FromContext(ctx).Error(err, msg)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}
