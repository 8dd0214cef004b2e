! Usual shapes of Fortran: functions, subroutines, modules, arrays, texts, recursion, optional arguments, contained procedures.
! Recursive: factorial
module work
  implicit none
  integer, volatile :: sink = 0
  type point
    integer :: x, y
  end type
contains
  subroutine enter(text)
    character(*), intent(in) :: text
#ifdef TRUTH
    print '(A)', 'call' // achar(9) // text
#endif
  end subroutine

  function digits(n) result(text)
    integer, intent(in) :: n
    character(:), allocatable :: text
    character(20) :: room
    write (room, '(I0)') n
    text = trim(room)
  end function

  recursive function factorial(n) result(out)
    integer, intent(in) :: n
    integer :: out
#ifdef TRUTH
    call enter('factorial' // achar(9) // 'n=' // digits(n))
#endif
    sink = sink + n
    out = 1
    if (n > 1) out = n * factorial(n - 1)
  end function

  function total(list, n) result(out)
    integer, intent(in) :: n, list(n)
    integer :: out, i
#ifdef TRUTH
    call enter('total' // achar(9) // 'list=? n=' // digits(n))
#endif
    out = 0
    do i = 1, n
      out = out + list(i)
    end do
    sink = sink + out
  end function

  subroutine move(p, by)
    type(point), intent(inout) :: p
    integer, value :: by
#ifdef TRUTH
    call enter('move' // achar(9) // 'p=? by=' // digits(by))
#endif
    p%x = p%x + by
    p%y = p%y + by
    sink = sink + p%x
  end subroutine

  function mean(a, b, c) result(out)
    real(8), intent(in) :: a, c
    real(4), value :: b
    real(8) :: out
#ifdef TRUTH
    call enter('mean' // achar(9) // 'a=? b=? c=?')
#endif
    sink = sink + int(a)
    out = (a + b + c) / 2
  end function

  subroutine greet(text, times)
    character(*), intent(in) :: text
    integer, intent(in), optional :: times
#ifdef TRUTH
    call enter('greet' // achar(9) // 'text=? times=? _text=' // digits(len(text)))
#endif
    sink = sink + len(text)
    if (present(times)) sink = sink + times
  end subroutine

  subroutine outer(n)
    integer, intent(in) :: n
    integer :: i
#ifdef TRUTH
    call enter('outer' // achar(9) // 'n=' // digits(n))
#endif
    do i = 1, n
      call inner(i)
    end do
  contains
    subroutine inner(k)
      integer, intent(in) :: k
#ifdef TRUTH
      call enter('inner' // achar(9) // 'k=' // digits(k))
#endif
      sink = sink + k * n
    end subroutine
  end subroutine
end module

program shapes
  use work
  implicit none
  integer :: i, list(5)
  type(point) :: p
  do i = 0, 4
    sink = sink + factorial(i)
  end do
  list = [1, 2, 3, 4, 5]
  sink = sink + total(list, 5) + total(list, 2)
  p = point(1, 2)
  call move(p, 10)
  call move(p, -3)
  sink = sink + int(mean(1d0, 2.5, 3d0)) + int(mean(-1d0, 0.5, 8d0))
  call greet('tea')
  call greet('milk and tea', 3)
  call outer(4)
  call outer(1)
end program
