import java.io.File;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Writes its own stack at moments at which sonde prints it, too: the call of exists() is a system call. */
class Stacks {
    static PrintStream truth;
    static final File mark = new File("/nonexistent/sonde-mark");
    static boolean isLoud;

    static void here() {
        if (!isLoud) return;
        Throwable now = new Throwable(); mark.exists();
        write(now);
    }
    static void write(Throwable now) {
        StringBuilder out = new StringBuilder();
        for (StackTraceElement one : now.getStackTrace()) {
            out.append(one.getClassName()).append('.').append(one.getMethodName());
            if (one.getFileName() != null)
                out.append(" [").append(one.getFileName()).append(one.getLineNumber() < 0 ? "" : ":" + one.getLineNumber()).append(']');
            out.append('\n');
        }
        truth.println(out);
    }

    interface Shape {
        int area(int n);
        default int twice(int n) { return 2 * area(n); }
    }
    static class Square implements Shape {
        final int size;
        Square(int size) { this.size = size; if (size == 77) here(); }
        public int area(int n) { return leaf(n) + size; }
        static int leaf(int n) { if (n % 1000 == 999) here(); return n * 3; }
    }
    static class Circle implements Shape {
        public int area(int n) {
            return small(n) +
                tail(n);
        }
        int small(int n) { return tail(n) + 1; }
        int tail(int n) { if (n % 1000 == 500) here(); return n; }
    }
    /** Loaded late: code that has been compiled without it is discarded while its frames are in the stack. */
    static class Late implements Shape {
        static { here(); }
        public int area(int n) { here(); return n; }
    }
    static class A { int value() { return 1; } int sum(int n) { return n == 0 ? value() : sum(n - 1) + value(); } }
    static class B extends A { int value() { here(); return 2; } }
    static int größe日本(int n) { here(); return n; }
    static class ALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongName {
        static int withALongNameWithALongNameWithALongNameWithALongNameWithALongName(int n) { here(); return n; }
        static class AnotherLongNameAnotherLongNameAnotherLongNameAnotherLongName {
            static int method(int n) { here(); return n; }
        }
    }

    static int deep(int n) { if (n == 0) { here(); return 0; } return deep(n - 1) + 1; }
    static int work(Shape[] shapes, int n) {
        int sum = 0;
        for (Shape shape : shapes)
            sum += shape.area(n) + shape.twice(n);
        return sum;
    }
    static synchronized long locked(Supplier<Integer> get) { return get.get(); }
    static long manyArguments(int a, long b, double c, String d, int e, int f, int g, long h, double i, int j, Object k) {
        here();
        return a + b + (long)c + d.length() + e + f + g + h + (long)i + j + k.hashCode() % 2;
    }
    static int thrown(int n) {
        try {
            if (n % 2 == 0)
                throw new IllegalStateException();
            Object nothing = n > 0 ? null : "";
            return nothing.hashCode();
        } catch (IllegalStateException | NullPointerException e) {
            here();
            return 1;
        } finally {
            here();
        }
    }
    static class Noticed extends RuntimeException {
        public synchronized Throwable fillInStackTrace() { here(); return super.fillInStackTrace(); }
    }
    static class Named {
        public String toString() { here(); return "named"; }
    }
    /** Runs for so long that the loop itself is compiled. */
    static int loop(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i % 7;
            if (i % 100_000 == 99_999)
                here();
        }
        here();
        return sum;
    }
    static int called(Object n) { here(); return ((Integer)n) + 1; }
    static int handled(int n) { here(); return n + 1; }

    static int some(int round, Shape[] shapes) throws Throwable {
        int sum = deep(20);
        new Square(77);
        sum += locked(() -> { here(); return 1; });
        sum += manyArguments(1, 2, 3, "", 4, 5, 6, 7, 8, 9, shapes);
        sum += thrown(round) + thrown(round + 1);
        try { throw new Noticed(); } catch (Noticed e) { here(); }
        sum += String.format("%s", new Named()).length();
        TreeMap<String, Integer> map = new TreeMap<>((a, b) -> { here(); return a.compareTo(b); });
        map.put("a", 1);
        map.put("b", 2);
        Integer[] numbers = {3, 1, 2};
        Arrays.sort(numbers, (a, b) -> { here(); return a - b; });
        sum += Arrays.stream(numbers).mapToInt(n -> { here(); return n; }).filter(n -> n > 1).sum();
        IntUnaryOperator next = Stacks::handled;
        sum += next.andThen(next).applyAsInt(1);
        sum += (Integer)Stacks.class.getDeclaredMethod("called", Object.class).invoke(null, 1);
        MethodHandle handle = MethodHandles.lookup().findStatic(Stacks.class, "handled", MethodType.methodType(int.class, int.class));
        sum += (int)handle.invokeExact(1);
        sum += größe日本(1);
        sum += ALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongName.withALongNameWithALongNameWithALongNameWithALongNameWithALongName(1);
        sum += ALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongNameALongName.AnotherLongNameAnotherLongNameAnotherLongNameAnotherLongName.method(1);
        return sum;
    }
    static void inThread(Thread thread) throws Exception { thread.start(); thread.join(); }
    /** Java 21 has virtual threads. */
    static void inVirtualThread(Runnable run) throws Exception {
        Thread thread;
        try {
            thread = (Thread)Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
        } catch (NoSuchMethodException e) {
            return;
        }
        thread.join();
    }

    public static void main(String[] arguments) throws Throwable {
        truth = new PrintStream(new FileOutputStream(arguments[0]), false, "UTF-8");
        int rounds = Integer.parseInt(arguments[1]), sum = 0;
        Shape[] shapes = {new Square(1), new Circle(), new Square(2)};
        A[] values = {new A(), new A()};
        for (int i = 0; i < rounds; i++) {
            isLoud = i >= rounds - 2000;
            sum += work(shapes, i);
            sum += values[0].sum(5);
            if (i % 1000 == 7)
                sum += some(i, shapes);
        }
        sum += loop(rounds * 50);
        values[1] = new B();
        sum += values[1].sum(5);
        shapes[1] = (Shape)Class.forName("Stacks$Late").getDeclaredConstructor().newInstance();
        sum += work(shapes, 3);
        inThread(new Thread(() -> deep(5)));
        inThread(new Thread() { public void run() { loop(200_000); } });
        if (arguments.length > 2) {
            inVirtualThread(() -> deep(3));
            inVirtualThread(() -> {
                deep(3);
                try { Thread.sleep(20); } catch (InterruptedException e) {}
                deep(3);
            });
        }
        truth.flush();
        System.exit(sum == 1 ? 1 : 0);
    }
}

/** Calls small methods all the time. Each has one caller only. */
class Spin {
    static long sum;
    final int number;
    Spin(int number) { this.number = number; }
    interface Step { int step(int n); }
    static class Odd implements Step { public int step(int n) { return leaf(n) + 1; } static int leaf(int n) { return n ^ 3; } }
    static class Even implements Step { public int step(int n) { return big(n, n + 1, n + 2, n + 3, 5, 6, 7, 8) + 2; } 
        static int big(int a, int b, int c, int d, int e, int f, int g, int h) {
            long x = a * 3L + b * 5L + c * 7L + d * 11L, y = e * 13L + f * 17L + g * 19L + h * 23L;
            return (int)(x * y + small(a, x)) ;
        }
        static int small(int a, long b) { return (int)(a + b); }
    }
    static class Third implements Step { public int step(int n) { int[] one = new int[n & 15]; Arrays.fill(one, n); return one.length + recursive(n & 7); }
        static int recursive(int n) { return n == 0 ? 1 : recursive(n - 1) + n; }
    }
    static int level3(Step[] steps, int n) { int all = 0; for (Step one : steps) all += one.step(n); return all; }
    synchronized int level2(Step[] steps, int n) { return level3(steps, n + number); }
    static int level1(Spin spin, Step[] steps, int n) { int all = 0; for (int i = 0; i < 10; i++) all += spin.level2(steps, n + i); return all; }
    static void rounds(long until) {
        Spin spin = new Spin(3);
        Step[] steps = {new Odd(), new Even(), new Third()};
        while (System.nanoTime() < until)
            for (int i = 0; i < 1000; i++)
                sum += level1(spin, steps, i);
    }
    public static void main(String[] arguments) {
        rounds(System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L);
        System.out.println(sum);
    }
}
