// Command cbtemulator serves an in-memory Bigtable on -host and -port, as the emulator of the Google Cloud SDK does.
package main

import (
	"flag"
	"fmt"
	"log"

	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
)

func main() {
	host := flag.String("host", "localhost", "the address to bind to")
	port := flag.Int("port", 9000, "the port to bind to; 0 takes a free one")
	flag.Parse()
	server, err := bttest.NewServer(fmt.Sprintf("%s:%d", *host, *port), grpc.MaxRecvMsgSize(256<<20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Cloud Bigtable emulator running on %s\n", server.Addr)
	select {}
}
