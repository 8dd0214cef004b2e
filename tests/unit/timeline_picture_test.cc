// Timelines with more calls than a picture can show: which ones remain, and the message about it.
#include "runtime/sinks/pictures/timeline_picture.h"

#include <fcntl.h>

#include <string>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace sonde {
namespace {

constexpr uint64_t process = 1, thread = 2, curve = 3;

class TimelinePictureTest : public testing::Test {
  protected:
    TimelinePictureTest() : picture_("image.svg", *open_file("/dev/null", O_WRONLY)) {
        picture_.process(process, 7, "shop");
        picture_.thread(thread, process, 7, 8, "worker");
    }
    void call(int64_t begin, int64_t end, const std::string& name) {
        picture_.begin(thread, begin, name);
        picture_.end(thread, end, "");
    }
    std::string drawn(int64_t end) {
        EXPECT_TRUE(picture_.finish(end));
        return picture_.svg();
    }
    static size_t count(const std::string& text, const std::string& part) {
        size_t out = 0;
        for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
            out++;
        return out;
    }

    TimelinePicture picture_;
};

TEST_F(TimelinePictureTest, OfMoreCallsTheLongestAreKept) {
    int64_t time = 1'000'000;
    for (size_t i = 0; i < TimelinePicture::most_calls + 500; i++, time += 100)
        call(time, time + (i % 7 == 0 ? 90 : 10), i % 7 == 0 ? "long" : "short");
    call(time, time + 5000, "longest");
    const std::string image = drawn(time + 6000);
    EXPECT_EQ(count(image, "<g class=\"c\""), TimelinePicture::most_calls);
    EXPECT_EQ(count(image, "data-n=\"long\""), (TimelinePicture::most_calls + 500 + 6) / 7);
    EXPECT_EQ(count(image, "data-n=\"longest\""), 1);
    EXPECT_NE(image.find("this picture shows the 20000 longest of 20501 calls"), std::string::npos);
    EXPECT_NE(image.find("shop 7: 20501 calls, 0 marks"), std::string::npos);
}

TEST_F(TimelinePictureTest, OfMoreMarksEverySecondIsKept) {
    const size_t marks = TimelinePicture::most_marks + 10;
    for (size_t i = 0; i < marks; i++)
        picture_.moment(thread, static_cast<int64_t>(1000 + i), {"hit " + std::to_string(i), "", true});
    const std::string image = drawn(1'000'000);
    EXPECT_EQ(count(image, "<g class=\"m\""), marks / 2);
    EXPECT_EQ(count(image, "data-n=\"hit 1\""), 0);
    EXPECT_EQ(count(image, "data-n=\"hit 4008\""), 1);
    EXPECT_NE(image.find("this picture shows one of 2 marks"), std::string::npos);
}

TEST_F(TimelinePictureTest, ACurveGetsCoarserAndKeepsItsEnd) {
    picture_.counter(curve, "n");
    for (size_t i = 0; i < 3 * TimelinePicture::most_values; i++)
        picture_.value(curve, static_cast<int64_t>(1'000'000 * i), static_cast<int64_t>(i));
    const std::string image = drawn(0);
    const size_t path = image.find("stroke-width=\"1.5\"");
    ASSERT_NE(path, std::string::npos);
    const std::string line = image.substr(image.rfind("d=\"", path), path);
    EXPECT_LT(count(line, "H"), TimelinePicture::most_values);
    EXPECT_NE(image.find("0 to 11999"), std::string::npos);
    EXPECT_EQ(image.find("this picture shows"), std::string::npos);
}

TEST_F(TimelinePictureTest, DeepCallsAreCounted) {
    const size_t depth = TimelinePicture::most_depth + 3;
    for (size_t i = 0; i < depth; i++)
        picture_.begin(thread, static_cast<int64_t>(1000 + i), "down");
    for (size_t i = 0; i < depth; i++)
        picture_.end(thread, static_cast<int64_t>(2000 + i), "");
    const std::string image = drawn(5000);
    EXPECT_EQ(count(image, "<g class=\"c\""), TimelinePicture::most_depth);
    EXPECT_NE(image.find("calls up to a depth of 50 (3 are deeper)"), std::string::npos);
}

TEST_F(TimelinePictureTest, NamesAreNoMarkup) {
    call(1000, 2000, "operator<<(std::ostream&, \"x\")");
    const std::string image = drawn(3000);
    EXPECT_NE(image.find("data-n=\"operator&lt;&lt;(std::ostream&amp;, &quot;x&quot;)\""), std::string::npos);
}

} // namespace
} // namespace sonde
