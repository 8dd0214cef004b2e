// Sends itself a few requests, and answers them, so that you can trace them.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

func orders(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%d bytes ordered\n", len(body))
}

func main() {
	http.HandleFunc("/orders", orders)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	base := "http://" + listener.Addr().String()
	http.Get(base + "/hello")
	answer, err := http.Post(base+"/orders", "text/plain", strings.NewReader("tea"))
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	fmt.Println("done")
}
