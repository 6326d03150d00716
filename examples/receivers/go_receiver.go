// A receiver of callbacks in Go, with the standard library only: PORT=8000 go run go_receiver.go
//
// The file ORDERS stands for your database: one line holds the callback's key and its effect, so both are stored or
// neither is. With database/sql, do both in one transaction:
//
//	tx: INSERT INTO inbox (id) VALUES ($1) ON CONFLICT DO NOTHING  -- 0 rows: roll back, answer 200
//	    ... the work ...; commit                                   -- and only then answer
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance = 300 * time.Second
	mostBytes = 1 << 20
	leastKey  = 24
)

var (
	idForm   = regexp.MustCompile(`^[^\s.]+$`)
	timeForm = regexp.MustCompile(`^[0-9]{1,12}$`)
)

type line struct {
	Key    string `json:"key"`
	Closed int    `json:"closed"`
}

type receiver struct {
	key    []byte
	orders *os.File
	lock   sync.Mutex
	taken  map[string]bool
}

func (r *receiver) isGenuine(header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if !idForm.MatchString(id) || !timeForm.MatchString(timestamp) {
		return false
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return false
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if strings.HasPrefix(signature, "v1,") && err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, mostBytes))
	switch {
	case err != nil:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case !r.isGenuine(request.Header, body):
		w.WriteHeader(http.StatusUnauthorized)
	case request.Header.Get("delayhub-test") == "1":
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(r.closeOrder(request.Header, body))
	}
}

func (r *receiver) closeOrder(header http.Header, body []byte) int {
	var wanted struct{ Order int }
	if err := json.Unmarshal(body, &wanted); err != nil {
		return http.StatusBadRequest
	}
	redrive := header.Get("delayhub-redrive")
	if redrive == "" {
		redrive = "0"
	}
	found := line{Key: header.Get("webhook-id") + ":" + redrive, Closed: wanted.Order}
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.taken[found.Key] {
		return http.StatusOK
	}
	text, _ := json.Marshal(found)
	if _, err := fmt.Fprintf(r.orders, "%s\n", text); err != nil {
		return http.StatusInternalServerError // DelayHub tries again
	}
	r.taken[found.Key] = true
	return http.StatusNoContent
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("DELAYHUB_SECRET"), "whsec_"))
	if err != nil || len(key) < leastKey { // without a key, anybody could sign
		log.Fatal("DELAYHUB_SECRET is no signing secret")
	}
	orders, err := os.OpenFile(os.Getenv("ORDERS"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	r := &receiver{key: key, orders: orders, taken: map[string]bool{}}
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		var found line
		if json.Unmarshal(lines.Bytes(), &found) == nil {
			r.taken[found.Key] = true
		}
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), r))
}
