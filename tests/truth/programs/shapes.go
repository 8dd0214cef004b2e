// Usual shapes of Go: methods, interfaces, closures, several results, slices and strings, generics, defer and recover, goroutines.
// Recursive: main.factorial, main.deep, main.grows
package main

import (
	"errors"
	"fmt"
	"sort"
	"sync"
)

var sink int64

func note(value int64) { sink += value }

type Point struct{ X, Y int }
type Mixed struct {
	Small uint8
	Real  float64
}
type Shape interface{ Area(scale int) int }
type Square struct{ side int }
type Strip struct{ width, height int }

func (s Square) Area(scale int) int {
	call("main.Square.Area", "s=? scale=%d", scale)
	note(int64(scale))
	return result("main.Square.Area", s.side*s.side*scale)
}

func (s *Strip) Area(scale int) int {
	call("main.(*Strip).Area", "s=? scale=%d", scale)
	note(int64(scale + 1))
	return result("main.(*Strip).Area", s.width*s.height*scale)
}

func factorial(n int) int {
	call("main.factorial", "n=%d", n)
	note(int64(n))
	if n <= 1 {
		return result("main.factorial", 1)
	}
	return result("main.factorial", n*factorial(n-1))
}

func gcd(a, b int64) int64 {
	call("main.gcd", "a=%d b=%d", a, b)
	note(a)
	for b != 0 {
		a, b = b, a%b
	}
	note(a)
	return a
}

//go:noinline
func moved(p Point, by int) Point {
	call("main.moved", "p={.X=%d, .Y=%d} by=%d", p.X, p.Y, by)
	note(int64(by))
	return Point{p.X + by, p.Y + by}
}

//go:noinline
func mixed(m Mixed, flag bool) float64 {
	call("main.mixed", "m={.Small=%d, .Real=%f} flag=%t", m.Small, m.Real, flag)
	note(int64(m.Small))
	if flag {
		return m.Real
	}
	return float64(m.Small)
}

//go:noinline
func checked(value int32) (int32, error) {
	call("main.checked", "value=%d", value)
	note(int64(value))
	if value < 0 {
		return 0, errors.New("negative")
	}
	return value, nil
}

//go:noinline
func words(text string, times int) int {
	call("main.words", "text=%q times=%d", text, times)
	note(int64(len(text)))
	return result("main.words", len(text)*times)
}

//go:noinline
func many(a int8, b int16, c int32, d int64, e uint8, f uint16, g uint32, h uint64, i bool, j, k, l int) int64 {
	call("main.many", "a=%d b=%d c=%d d=%d e=%d f=%d g=%d h=%d i=%t j=%d k=%d l=%d", a, b, c, d, e, f, g, h, i, j, k, l)
	note(int64(a) + int64(b) + int64(c) + d + int64(e) + int64(f) + int64(g) + int64(h) + int64(j) + int64(k) + int64(l))
	return int64(c) + d
}

//go:noinline
func reals(a float64, b float32, c float64) float64 {
	call("main.reals", "a=%f b=%f c=%f", a, b, c)
	note(int64(a))
	return a + float64(b)*c
}

//go:noinline
func apply(with func(int) int, value int) int {
	call("main.apply", "with=? value=%d", value)
	note(int64(value))
	return result("main.apply", with(value))
}

//go:noinline
func deep(depth int) int {
	call("main.deep", "depth=%d", depth)
	note(int64(depth))
	if depth == 0 {
		panic("at the end")
	}
	return result("main.deep", deep(depth-1)+1)
}

//go:noinline
func catches(depth int) (caught bool) {
	call("main.catches", "depth=%d", depth)
	defer func() {
		if recover() != nil {
			caught = true
		}
	}()
	deep(depth)
	return false
}

//go:noinline
func grows(depth int) int {
	call("main.grows", "depth=%d", depth)
	var room [400]int
	room[depth%400] = depth
	note(int64(room[depth%400]))
	if depth == 0 {
		return result("main.grows", 0)
	}
	return result("main.grows", grows(depth-1)+room[depth%400])
}

//go:noinline
func sum(list []int, start int) int {
	call("main.sum", "list=? start=%d", start)
	for _, one := range list {
		start += one
	}
	note(int64(start))
	return result("main.sum", start)
}

//go:noinline
func work(number int) int {
	call("main.work", "number=%d", number)
	total := 0
	for i := 0; i < 5; i++ {
		total += factorial(3) + words("ab", number)
	}
	return result("main.work", total)
}

func main() {
	one := int(sink) + 1
	for n := 0; n < 5; n++ {
		note(int64(factorial(n * one)))
	}
	note(gcd(48, 36*int64(one)) + gcd(17*int64(one), 5))
	p := moved(moved(Point{one, 2}, 10*one), -1)
	note(int64(p.X + p.Y))
	note(int64(mixed(Mixed{3, 2.5}, true) + mixed(Mixed{uint8(one), 1}, one == 2)))
	for _, value := range []int32{5, -3} {
		out, err := checked(value)
		if err == nil {
			note(int64(out))
		}
	}
	note(int64(words("a cup of tea", 2*one) + words("", 1)))
	note(many(-1, -2, int32(3*one), -4, 200, 60000, 7, 8, true, -10, 11, 12))
	note(int64(reals(1.5, 2.25, 4*float64(one)) + reals(0, -1, 3)))
	extra := 7 * one
	note(int64(apply(func(v int) int { return v * extra }, 3) + apply(func(v int) int { return v - extra }, 4*one)))
	if catches(3 * one) {
		note(1)
	}
	note(int64(grows(60)))
	note(int64(sum([]int{1, 2, 3 * one}, 4)))
	for _, shape := range []Shape{Square{3}, &Strip{2, 5}, Square{one}} {
		note(int64(shape.Area(2 * one)))
	}
	list := []string{"seven", "a", "three", "of"}
	sort.Slice(list, func(i, j int) bool { return len(list[i]) < len(list[j]) })
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			note(int64(work(number)))
		}(i)
	}
	all.Wait()
	if sink == 1 {
		fmt.Println("never")
	}
}
