# Writes its own stack at many places, and calls getppid() at the same moments, where tests/ruby_tests compares it with
# sonde's stack. Arguments: the file to write, then names of scenarios.
require "erb"
require "monitor"
require "set"
require "tempfile"

OUT = File.open(ARGV.shift, "a")
OUT.sync = true

def write(locations, thread = nil)
  thread ||= File.readlink("/proc/thread-self").split("/").last
  # The first one is the method in C that makes the system call, at the position of the frame that calls it.
  ppid = RUBY_VERSION >= "3.4" ? "Process.ppid" : "ppid"
  lines = ["#{ppid} [#{locations[0].path}:#{locations[0].lineno}]"]
  lines += locations.map { |one| one.path ? "#{one.label} [#{one.path}:#{one.lineno}]" : one.label }
  OUT.write("#{thread}\n#{lines.join("\n")}\n\n")
end

def note
  Process.ppid; write(caller_locations(0))
end

class Shape
  attr_writer :size
  def self.make; note; new; end
  def area; note; 1; end
  def +(other) note; self end
  def -@; note; self end
  def [](n) note; n end
  def []=(n, value) note end
  def ==(other) note; true end
  def <=>(other) note; 0 end
  def call(x) note; x end
  def empty?; note; true end
  def name=(x) note end
  def to_s; note; "shape" end
  def to_str; note; "shape" end
  def to_proc; proc { |x| note; x } end
  def coerce(other) note; [1, 2] end
  def each; note; yield 1; yield 2; end
  include Enumerable
  include Comparable
  def method_missing(name, *arguments) note; name end
  def respond_to_missing?(name, all = false) note; true end
  define_method(:defined) { |x| note; x }
  class << self
    def single; note; end
    define_method(:single_block) { note }
  end
  note
end

class Circle < Shape
  def initialize(x = 1) note; super() end
  def area; super; note; end
  alias_method :surface, :area
end

module Tools
  module_function
  def helper; note; end
end

module Refined
  refine Integer do
    def doubled; note; self * 2; end
  end
end
using Refined

SCENARIOS = {
  "methods" => lambda {
    Shape.make.area
    Circle.new.area
    Circle.new.surface
    a = Shape.new
    a + a
    -a
    a[1]
    a[1] = 2
    a == a
    a < a
    a.(1)
    a.empty?
    a.name = 1
    "#{a}"
    "x" + a
    1 + a rescue nil
    a.defined(1)
    Shape.single
    Shape.single_block
    a.missing(1)
    a.respond_to?(:other)
    Tools.helper
    3.doubled
    a.send(:area)
    a.public_send(:area)
    a.__send__(:area)
    a.method(:area).call
    a.method(:area).unbind.bind(a).call
    a.instance_eval { note }
    Shape.class_eval { note }
    Class.new { note }
    Struct.new(:x) { def y; note; end }.new(1).y
    def a.special; note; end
    a.special
    BasicObject.instance_method(:instance_exec).bind(a).call(1) { |x| note }
  },
  # Classes that are, or are not, part of names from Ruby 3.4 on.
  "classes" => lambda {
    outer = Module.new
    Object.const_set(:Outer, outer)
    outer.const_set(:Inner, Class.new(Shape) { def run; note; [1].each { [2].map { note } }; end })
    Outer::Inner.new.run
    Outer::Inner.make
    anonymous = Class.new { def run; note; [1].each { note }; end; def self.start; note; [1].each { note }; end }
    anonymous.new.run
    anonymous.start
    Shape.singleton_class.class_eval { def in_singleton; note; end }
    Shape.in_singleton
    object = Object.new
    class << object
      def alone; note; [1].each { note }; end
      note
    end
    object.alone
    object.singleton_class.singleton_class.send(:define_method, :twice) { note }
    object.singleton_class.twice
    Module.new { def self.started; note; end }.started
    Tools.module_eval { def self.more; note; end }
    Tools.more
    mixed = Module.new { def mixed; note; end }
    Object.const_set(:Mixed, mixed)
    Class.new { include Mixed }.new.mixed
    Shape.include(Mixed)
    Shape.new.mixed
    Shape.prepend(Module.new { def area; note; super; end })
    Shape.new.area
    Circle.new.area
    Object.const_set(:Wrapping, Module.new { def [](n) note; super; end })
    Shape.prepend(Wrapping)
    Shape.new[1]
    Shape.class_eval { def self.defines; define_method(:defined_inside) { note; [1].each { note } }; note; end }
    Shape.defines
    Shape.new.defined_inside
    Shape.define_method(:by_lambda, ->() { note })
    Shape.new.by_lambda
    Shape.define_method(:by_method, Shape.instance_method(:-@))
    Shape.new.by_method
    Shape.alias_method(:single_alias, :-@)
    Shape.new.single_alias
    Shape.class_eval { def cleans; begin; raise "x"; rescue; begin; raise "y"; rescue; note; [1].each { note }; ensure; note; end; ensure; [1].each { note }; end; end }
    Shape.new.cleans
    Shape.class_eval { def evaluates; eval("[1].each { eval('note') }"); eval("begin; raise 'x'; rescue; note; end"); end }
    Shape.new.evaluates
    Shape.class_eval { def late; at_exit { note }; Thread.new { note }.join; Fiber.new { note }.resume; end }
    Shape.new.late
    Shape.instance_method(:area).bind_call(Circle.new)
    Struct.new("Named", :x) { def run; note; end }.new(1).run
    Comparable.define_method(:compared) { note }
    3.compared
    Kernel.define_method(:everywhere) { [1].each { note } }
    everywhere
    Class.new(Shape) { def area; super; note; end }.new.area
    renamed = Class.new { def run; note; end }
    renamed.set_temporary_name("fake<name>") if renamed.respond_to?(:set_temporary_name)
    renamed.new.run
    long = "L" + "o" * 170
    Object.const_set(long, Class.new { def run; note; [1].each { note }; end })
    Object.const_get(long).new.run
    def self.toplevel; note; end
    toplevel
  },
  "blocks" => lambda {
    [1].each { note }
    [1, 2].map { |x| note; [x].map { |y| note } }
    1.times { 1.upto(1) { 2.downto(2) { note } } }
    [1, 2].inject { |x, y| note; x }
    [3, 1].sort { |x, y| note; x <=> y }
    [3, 1].sort_by { |x| note; x }
    [Shape.new].each(&:area)
    [Shape.new].map(&:to_s)
    [1].each(&Shape.new)
    Shape.new.map { |x| note }
    Shape.new.each_with_index { |x, i| note }
    Shape.new.each_slice(2) { |x| note }
    Shape.new.first
    Shape.new.lazy.map { |x| note; x }.select { |x| note; true }.first(1)
    { 1 => 2 }.each { |k, v| note }
    { 1 => 2 }.transform_values { |v| note }
    Hash.new { |h, k| note; 1 }[1]
    1.then { note }
    1.tap { note }
    loop { note; break }
    "ab".gsub(/a/) { note; "x" }
    "ab".each_char { note }
    proc { note }.call
    lambda { |x| note }.(1)
    ->(x) { note }.curry[1]
    (proc { |x| note; x } >> proc { |x| note; x }).call(1)
    method(:note).to_proc.call
    [1].each_entry { note }
    Array.new(1) { note }
    Set[1].each { note }
    catch(:done) { [1].each { note; throw :done } }
    begin
      [1].each { |x| next note }
    end while false
    Comparable.instance_method(:clamp)
    [Shape.new, Shape.new].max
    [1].cycle(1) { note }
    1.step(2) { note }
    (1..2).each { note }
    Dir.each_child("/proc/self/task") { note; break }
    ObjectSpace.each_object(Class) { note; break }
  },
  "exceptions" => lambda {
    begin
      raise "x"
    rescue => error
      note
      begin
        raise error
      rescue
        note
      ensure
        note
      end
    ensure
      note
    end
    tries = 0
    begin
      tries += 1
      raise "again" if tries < 3
      note
    rescue
      note
      retry
    end
    [1].each { begin; raise "y"; rescue; note; ensure; note; end }
    Integer("z") rescue note
    def failing; raise "deep"; ensure; note; end
    5.times { failing rescue note }
    10.times { |i| [i].each { |x| raise "z" } rescue note }
    catch(:out) { begin; throw :out; ensure; note; end }
  },
  "threads" => lambda {
    Thread.new { note; Thread.new { note }.join; [1].each { note } }.join
    4.times.map { |i| Thread.new { 20.times { work(i) } } }.each(&:join)
    mutex = Mutex.new
    2.times.map { Thread.new { mutex.synchronize { note } } }.each(&:join)
    monitor = Monitor.new
    monitor.synchronize { note }
    queue = Queue.new
    consumer = Thread.new { queue.pop; note }
    queue << 1
    consumer.join
    Thread.new { Thread.current.report_on_exception = false; begin; raise "x"; rescue; note; end }.join
    Thread.handle_interrupt(RuntimeError => :never) { note }
  },
  "fibers" => lambda {
    fiber = Fiber.new { note; [1].each { Fiber.yield 1 }; note; 2 }
    fiber.resume
    note
    fiber.resume
    numbers = Enumerator.new { |y| note; y << 1; note; y << 2 }
    numbers.next
    numbers.next
    [1, 2].each.next
    Fiber.new { Fiber.new { note }.resume; note }.resume
    Thread.new { Fiber.new { note }.resume; note }.join
    Shape.new.each_entry.next
  },
  "evaluated" => lambda {
    eval("note")
    eval("\n\n\nnote", binding, "other.rb", 100)
    instance_eval("[1].each { note }", "third.rb", 7)
    Shape.class_eval("def made; note; end", "made.rb", 70000)
    Shape.new.made
    binding.eval("note")
    ERB.new("<% note %>").result(binding)
    Tempfile.create(["loaded", ".rb"]) do |file|
      file.write("note\nclass Loaded\n  note\n  def run; note; end\nend\nLoaded.new.run\n")
      file.flush
      load file.path
      require file.path
    end
    TOPLEVEL_BINDING.eval("note")
    Kernel.binding.local_variable_set(:x, 1)
    ObjectSpace.garbage_collect
    note
    GC.compact if GC.respond_to?(:compact)
    note
    at_exit { note }
  },
  # Positions in code beyond the first part of the index of lines, and in further blocks.
  "lines" => lambda {
    [3, 20, 60, 200, 700, 3000].each do |count|
      text = (1..count).map { |i| i % [count / 8, 1].max == 0 ? "note" : "x = #{i} + y" }.join("\n")
      eval("def long_#{count}(y)\n#{text}\nend", TOPLEVEL_BINDING, "long.rb", 10)
      send("long_#{count}", 1)
    end
    eval("def empty_lines(y)\n#{"\n" * 5000}note\n#{"\n" * 3000}[y].each {\n\n note }\nend", TOPLEVEL_BINDING, "empty.rb")
    empty_lines(1)
    eval("def one_line() note end", TOPLEVEL_BINDING, "one.rb", 5)
    one_line
  },
  "texts" => lambda {
    eval("def größe; note; end; def 名前; note; end", TOPLEVEL_BINDING, "größe.rb")
    größe
    名前
    ["short", "x" * 15, "x" * 16, "x" * 23, "x" * 24, "x" * 159, "x" * 160, "x" * 400].each do |name|
      eval("def n#{name}; note; end", TOPLEVEL_BINDING, name + "/file.rb")
      send("n#{name}")
    end
    define_method_like = "with blanks; and [brackets] 'x'"
    self.class.send(:define_method, define_method_like) { note }
    send(define_method_like)
  },
  "deep" => lambda {
    def down(n) n == 0 ? note : down(n - 1) end
    [10, 50, 120, 124, 125, 126, 127, 130, 500, 5000].each { |n| down(n) }
  },
  "deep_blocks" => lambda {
    def down_blocks(n) n == 0 ? note : [n].each { |x| down_blocks(x - 1) } end
    [2, 5, 10, 100].each { |n| down_blocks(n) }
  },
  "children" => lambda {
    2.times { Process.wait(fork { note; [1].each { note } }) }
  },
}

def work(n)
  [n].each { |x| note }
end

ARGV.each { |name| SCENARIOS.fetch(name).call }
