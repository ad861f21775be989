// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	readyEvery   = 50 * time.Millisecond
	writers      = 16 // requests of this program at a time, while it fills the cluster
	tokenAge     = 30 * 24 * 3600
	startsWithin = 3 * time.Minute
)

// control is the control plane: one etcd and one API server.
type control struct {
	s               *settings
	children        *children
	client          kubernetes.Interface
	etcd, apiserver *process
	kubeconfig      string // of the agents' account
}

func startControl(c *children, s *settings) (*control, error) {
	k := &control{s: s, children: c, kubeconfig: s.path("agent.kubeconfig")}
	config, err := clientcmd.BuildConfigFromFlags("", s.Admin)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if k.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if k.etcd, err = k.program("etcd", s.Etcd); err != nil {
		return nil, err
	}
	if _, err := k.startAPIServer(); err != nil {
		return nil, err
	}
	return k, k.makeAccount()
}

func (k *control) program(name string, argv []string) (*process, error) {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + k.s.Directory}
	return k.children.start(name, k.s.path("logs", name+".log"), argv, env)
}

// startAPIServer returns when it said for the first time that it is ready.
func (k *control) startAPIServer() (time.Time, error) {
	var err error
	if k.apiserver, err = k.program("kube-apiserver", k.s.APIServer); err != nil {
		return time.Time{}, err
	}
	for end := time.Now().Add(startsWithin); time.Now().Before(end); time.Sleep(readyEvery) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		text, err := k.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		cancel()
		if err == nil && string(text) == "ok" {
			return time.Now(), nil
		}
		if !k.apiserver.alive() {
			break
		}
	}
	text, _ := os.ReadFile(k.s.path("logs", "kube-apiserver.log"))
	return time.Time{}, fmt.Errorf("the API server does not become ready: %s", tail(text))
}

func (k *control) killAPIServer() {
	k.apiserver.kill(syscall.SIGKILL)
	<-k.apiserver.ended
}

// makeAccount makes what the chart installs for the agents, and one token for all of them. The admission policy that
// confines a token to its node is not there: it reads the node from the pod that a token was made for.
func (k *control) makeAccount() error {
	for _, manifest := range k.s.Manifests {
		if err := k.children.run(k.s.path("logs", "kubectl.log"), k.s.Kubectl, "--kubeconfig", k.s.Admin, "apply", "-f", manifest); err != nil {
			return err
		}
	}
	ctx := context.Background()
	seconds := int64(tokenAge)
	token, err := k.client.CoreV1().ServiceAccounts(accountSpace).CreateToken(ctx, account,
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds}}, meta.CreateOptions{})
	if err != nil {
		return err
	}
	space := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: claimSpace}}
	if _, err := k.client.CoreV1().Namespaces().Create(ctx, space, meta.CreateOptions{}); err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["scale"] = &clientcmdapi.Cluster{Server: k.s.Server, CertificateAuthority: k.s.Authority}
	config.AuthInfos["agent"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["scale"] = &clientcmdapi.Context{Cluster: "scale", AuthInfo: "agent"}
	config.CurrentContext = "scale"
	return clientcmd.WriteToFile(*config, k.kubeconfig)
}

// each calls do for all numbers below count, several at a time, and returns the first error.
func each(count, atOnce int, do func(number int) error) error {
	numbers := make(chan int)
	errs := make(chan error, atOnce)
	var wait sync.WaitGroup
	for range atOnce {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for number := range numbers {
				if err := do(number); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		}()
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	wait.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
