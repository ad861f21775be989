// SPDX-License-Identifier: Apache-2.0

// Vexcheck reads an OpenVEX document with the library of OpenVEX and fails when a statement of it is not valid.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/openvex/go-vex/pkg/vex"
)

func check(path string) (int, error) {
	document, err := vex.Open(path)
	if err != nil {
		return 0, err
	}
	if document.Context != vex.ContextLocator() || document.ID == "" || document.Author == "" || document.Timestamp == nil {
		return 0, fmt.Errorf("context %q, id %q, author %q, time %v: all are needed", document.Context, document.ID,
			document.Author, document.Timestamp)
	}
	if len(document.Statements) == 0 {
		return 0, errors.New("no statement")
	}
	for _, one := range document.Statements {
		if err := one.Validate(); err != nil {
			return 0, fmt.Errorf("%s: %w", one.Vulnerability.Name, err)
		}
		if one.Vulnerability.Name == "" || len(one.Products) == 0 {
			return 0, fmt.Errorf("a statement without a vulnerability or a product: %+v", one)
		}
	}
	return len(document.Statements), nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vexcheck FILE")
		os.Exit(2)
	}
	count, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vexcheck:", err)
		os.Exit(1)
	}
	fmt.Printf("vexcheck: %d statements\n", count)
}
