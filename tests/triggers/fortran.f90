! What Fortran has that others do not: arrays with descriptors, elements of the first dimension beside each other, text
! that blanks fill up, arguments that are left out, complex numbers.
module shop
  implicit none
  type item
    integer :: id
    real(8) :: price
    character(len=6) :: name
    integer, allocatable :: parts(:)
  end type
  real :: table(2, 3) = reshape([1., 2., 3., 4., 5., 6.], [2, 3])
contains
  subroutine look(n, list, text, one, square, optional_number, z, small_z, values)
    integer, intent(in) :: n, list(:), square(-1:0, 2:4)
    character(len=*), intent(in) :: text
    type(item), intent(in) :: one
    integer, optional :: optional_number
    complex(8) :: z
    complex(4) :: small_z
    real(8), allocatable :: values(:, :)
    print *, n, sum(list), text, one%id, sum(square), present(optional_number), z, small_z, size(values)
  end subroutine
end module

program main
  use shop
  type(item) :: one
  real(8), allocatable :: values(:, :)
  integer :: numbers(6) = [1, 2, 3, 4, 5, 6]
  allocate(values(2, 3))
  values = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3])
  one%id = 7
  one%price = 2.5d0
  one%name = "tea"
  allocate(one%parts(3))
  one%parts = [70, 71, 72]
  call look(3, numbers(1:5:2), "hello", one, reshape([1, 2, 3, 4, 5, 6], [2, 3]), z=(1d0, -2d0), small_z=(0.5, 8.), values=values)
end program
