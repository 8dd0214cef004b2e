// Usual shapes of C++: classes, virtual calls with several bases, templates, lambdas, operators, exceptions, callbacks.

// Recursive: (anonymous namespace)::deep

#include "truth.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bank {

struct Money {
    long cents;
    Money operator+(Money other) const {
        ENTER("bank::Money::operator+", "this={.cents=%ld} other={.cents=%ld}", cents, other.cents);
        sink += cents;
        RETURN(Money, "{.cents=%ld}", (result_.cents), Money{cents + other.cents});
    }
    bool operator<(const Money& other) const {
        ENTER("bank::Money::operator<", "this={.cents=%ld} other={.cents=%ld}", cents, other.cents);
        sink += other.cents;
        RETURN(bool, "%d", (result_), cents < other.cents);
    }
};

class Account {
  public:
    explicit Account(int number) : number_(number), balance_{0} {
        ENTER("bank::Account::Account", "this=? number=%d", number);
        sink += number;
        LEAVE();
    }
    virtual ~Account() {
        ENTER("bank::Account::~Account", "this=?");
        sink += number_;
        LEAVE();
    }
    virtual long fee(long amount) const {
        ENTER("bank::Account::fee", "this=? amount=%ld", amount);
        sink += amount;
        RETURN(long, "%ld", (result_), amount / 100);
    }
    void deposit(Money amount) {
        ENTER("bank::Account::deposit", "this=? amount={.cents=%ld}", amount.cents);
        sink += amount.cents;
        balance_ = balance_ + amount;
        LEAVE();
    }
    void withdraw(Money amount) {
        ENTER("bank::Account::withdraw", "this=? amount={.cents=%ld}", amount.cents);
        sink -= amount.cents;
        if (balance_ < amount)
            throw std::runtime_error("not enough");
        balance_ = balance_ + Money{-amount.cents};
        LEAVE();
    }
    int number() const {
        ENTER("bank::Account::number", "this=?");
        sink++;
        RETURN(int, "%d", (result_), number_);
    }
    static int next() {
        ENTER("bank::Account::next", "");
        static int last = 100;
        sink += last;
        RETURN(int, "%d", (result_), ++last);
    }

  private:
    int number_;
    Money balance_;
};

struct Named {
    virtual ~Named() = default;
    virtual const char* name(int style) {
        ENTER("bank::Named::name", "this=? style=%d", style);
        sink += style;
        RETURN(const char*, "\"%s\"", (result_), "unnamed");
    }
    long filler = 7;
};

class Savings : public Account, public Named {
  public:
    Savings(int number, double rate) : Account(number), rate_(rate) {
        ENTER("bank::Savings::Savings", "this=? number=%d rate=%f", number, rate);
        sink += number;
        LEAVE();
    }
    long fee(long amount) const override {
        ENTER("bank::Savings::fee", "this=? amount=%ld", amount);
        sink += amount + 1;
        RETURN(long, "%ld", (result_), Account::fee(amount) * 2);
    }
    const char* name(int style) override {
        ENTER("bank::Savings::name", "this=? style=%d", style);
        sink += style + 2;
        RETURN(const char*, "\"%s\"", (result_), "savings");
    }

  private:
    double rate_;
};

NOINLINE int attempt(Account& account, long cents) {
    ENTER("bank::attempt", "account=? cents=%ld", cents);
    try {
        account.withdraw(Money{cents});
    } catch (const std::runtime_error&) {
        sink -= 5;
        RETURN(int, "%d", (result_), -1);
    }
    sink += 5;
    RETURN(int, "%d", (result_), 0);
}

} // namespace bank

namespace {

template <class T> T largest(T a, T b) {
    ENTER(sizeof(T) == 4 ? "(anonymous namespace)::largest<int>" : "(anonymous namespace)::largest<double>",
          "a=%f b=%f", (double)a, (double)b);
    sink += (long)a;
    RETURN(T, "%f", ((double)result_), a < b ? b : a);
}

template <int N> int power(int base) {
    ENTER(N == 3   ? "(anonymous namespace)::power<3>"
          : N == 2 ? "(anonymous namespace)::power<2>"
                   : "(anonymous namespace)::power<1>",
          "base=%d", base);
    sink += base + N;
    if constexpr (N > 1)
        RETURN(int, "%d", (result_), base* power<N - 1>(base));
    else
        RETURN(int, "%d", (result_), base);
}

int overloaded(int value) {
    ENTER("(anonymous namespace)::overloaded", "value=%d", value);
    sink += value;
    RETURN(int, "%d", (result_), 1);
}
int overloaded(double value) {
    ENTER("(anonymous namespace)::overloaded", "value=%f", value);
    sink += (long)value;
    RETURN(int, "%d", (result_), 2);
}
int overloaded(const std::string& value) {
    ENTER("(anonymous namespace)::overloaded", "value=\"%s\"", value.c_str());
    sink += (long)value.size();
    RETURN(int, "%d", (result_), 3);
}

struct Guard {
    int id;
    explicit Guard(int number) : id(number) {
        ENTER("(anonymous namespace)::Guard::Guard", "this=? number=%d", number);
        sink += id;
        LEAVE();
    }
    ~Guard() {
        ENTER("(anonymous namespace)::Guard::~Guard", "this=?");
        sink -= id;
        LEAVE();
    }
};

NOINLINE void deep(int depth) {
    ENTER("(anonymous namespace)::deep", "depth=%d", depth);
    Guard guard(depth);
    if (depth == 0)
        throw depth;
    deep(depth - 1);
    sink++;
    LEAVE();
}

NOINLINE int with_callback(const std::function<int(int)>& callback, int times) {
    ENTER("(anonymous namespace)::with_callback", "callback=? times=%d", times);
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += callback(i);
    sink += sum;
    RETURN(int, "%d", (result_), sum);
}

void modify(int& value, std::vector<int>& list) {
    ENTER("(anonymous namespace)::modify", "value=%d list=?", value);
    value += 3;
    list.push_back(value);
    sink += value;
    LEAVE();
}

std::unique_ptr<bank::Account> make(bool saves, int number) {
    ENTER("(anonymous namespace)::make", "saves=%d number=%d", saves, number);
    sink += number;
    std::unique_ptr<bank::Account> out;
    if (saves)
        out = std::make_unique<bank::Savings>(number, 1.5);
    else
        out = std::make_unique<bank::Account>(number);
#ifdef TRUTH
    printf("return\t(anonymous namespace)::make\treturn=?\n");
#endif
    return out;
}

bool by_size(const std::string& left, const std::string& right) {
    ENTER("(anonymous namespace)::by_size", "left=? right=?");
    sink += (long)left.size();
    RETURN(bool, "%d", (result_), left.size() < right.size());
}

} // namespace

int main() {
    const int one = opaque(1);
    for (int i = 0; i < 3; i++) {
        auto account = make(i == 1, bank::Account::next());
        account->deposit({1000 * one});
        sink += account->fee(500 * one) + account->number();
        bank::attempt(*account, 300), bank::attempt(*account, 5000 * one);
        if (auto* named = dynamic_cast<bank::Named*>(account.get()))
            sink += named->name(i)[0];
    }
    bank::Named unnamed;
    bank::Named* volatile base = &unnamed;
    base->name(9);
    largest(3, 4 * one), largest(2.5, 1.5 * one), largest(one, 0);
    power<3>(2 * one), power<2>(5);
    overloaded(one), overloaded(2.25 * one), overloaded(std::string("text")), overloaded(7);
    for (int depth : {3 * one, 0})
        try {
            deep(depth);
        } catch (int number) {
            sink += number;
        }
    int captured = 10 * one;
    with_callback(
        [captured](int i) {
            sink += i;
            return i * captured;
        },
        4);
    with_callback(
        [&captured](int i) {
            captured += i;
            return captured;
        },
        3 * one);
    std::vector<int> list;
    for (int i = 0; i < 3; i++)
        modify(captured, list);
    std::vector<std::string> words = {"seven", "a", "three", "of"};
    std::stable_sort(words.begin(), words.end(), by_size);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            for (int k = 0; k < 10; k++)
                sink += bank::Money{i}.operator+(bank::Money{k}).cents;
        });
    for (std::thread& thread : threads)
        thread.join();
    return 0;
}
