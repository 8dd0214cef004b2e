// What a Go program has that others do not: calling convention, growing stacks, goroutines, interfaces.
package main

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
)

type Point struct {
	X, Y int32
	Name string
}
type Shape interface{ Area() int }
type Square struct{ Side int }
type Server struct {
	name  string
	count int
}
type List[T any] struct{ items []T }

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func greet(name string, times int) string { return name + "!" }

//go:noinline
func divide(a, b int) (quotient int, err error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a / b, nil
}

//go:noinline
func sum(list []int) (total int) {
	for _, x := range list {
		total += x
	}
	return
}

//go:noinline
func last(list []string) string { return list[len(list)-1] }

//go:noinline
func (s *Square) Area() int { return s.Side * s.Side }

//go:noinline
func area(s Shape) int { return s.Area() }

//go:noinline
func (s *Server) Serve(path string, p Point) (int, string) {
	s.count += int(p.Y)
	return s.count, s.name + path
}

//go:noinline
func (p Point) Move(by int32) Point { return Point{p.X + by, p.Y + by, p.Name} }

//go:noinline
func Max[T int | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}

//go:noinline
func (l *List[T]) Push(x T) int {
	l.items = append(l.items, x)
	return len(l.items)
}

//go:noinline
func mixed(m map[string]int, key string, f float64, flag bool, _ byte, c byte) int {
	if flag {
		return m[key] + int(f)
	}
	return int(c)
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int, k [2]int, l int8) (int, int, [2]int) {
	return a + b + c + d + e + f + g + h + i + int(l), j, k
}

//go:noinline
func show(x any) bool { return x != nil }

//go:noinline
func recovered(n int) (result int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("recovered")
		}
	}()
	if n > 1 {
		panic("n")
	}
	return n, nil
}

// Needs more stack than a goroutine begins with.
//
//go:noinline
func deep(n, x int) int {
	var room [32]int
	if n == 0 {
		return x
	}
	room[n%32] = deep(n-1, x+1)
	return room[n%32]
}

// Returns on another thread than it was called on, nearly always.
//
//go:noinline
func wait(n int, ready chan int) int {
	thread := syscall.Gettid()
	for i := 0; i < 10000 && syscall.Gettid() == thread; i++ {
		runtime.Gosched()
	}
	return n + <-ready
}

// Leaves its callers without returning.
//
//go:noinline
func leave(n int) int {
	if n == 0 {
		runtime.Goexit()
	}
	return leave(n-1) + 1
}

func together(count int, work func(int)) {
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			work(i)
		}(i)
	}
	all.Wait()
}

var results [256]int

func main() {
	runtime.GOMAXPROCS(4)
	server := &Server{name: "srv"}
	println(add(1, 2), greet("bob", 3))
	divide(7, 2)
	divide(7, 0)
	println(sum([]int{1, 2, 3}), last([]string{"x", "yz"}), area(&Square{4}))
	server.Serve("/index", Point{5, 6, "p"})
	println(Point{1, 2, "q"}.Move(10).X, Max(3, 4), Max("a", "b"), (&List[int]{}).Push(9))
	println(mixed(map[string]int{"k": 1}, "k", 2.5, true, 7, 8))
	many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, [2]int{11, 12}, 13)
	show(nil)
	show(42)
	show("text")
	show(Square{3})
	show(server)
	recovered(1)
	recovered(2)
	together(8, func(i int) { results[i] = deep(2000, i) })
	ready := make(chan int, 100)
	for i := 0; i < 100; i++ {
		ready <- 1000
	}
	together(100, func(i int) { results[i] = wait(i, ready) })
	together(4, func(i int) { leave(10) })
	println(results[0], results[99])
	router := &Router{Place{Point{1, 2, "here"}, 3}, &Logger{"log", 4, nil}, 80}
	router.Self = router.Logger
	println(route(router, *router))
}

// Fields that are embedded: by value, in one that is embedded itself, by pointer, and in a circle.
type Logger struct {
	Prefix string
	Level  int
	Self   *Logger
}
type Place struct {
	Point
	Level int
}
type Router struct {
	Place
	*Logger
	Port int
}

//go:noinline
func route(r *Router, v Router) int { return r.Port + int(v.X) }
