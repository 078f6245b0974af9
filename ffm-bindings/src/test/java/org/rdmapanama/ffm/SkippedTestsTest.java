package org.rdmapanama.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class SkippedTestsTest {
    private static String ran(String type, String name) {
        return "<testcase name=\"%s\" classname=\"org.rdmapanama.%s\" time=\"0.1\">\n<system-out/></testcase>\n"
                .formatted(name, type);
    }

    private static String skipped(String type, String name, String reason) {
        return "<testcase name=\"%s\" classname=\"org.rdmapanama.%s\" time=\"0\">\n<skipped><![CDATA[%s]]></skipped>\n<system-out/></testcase>\n"
                .formatted(name, type, reason);
    }

    private static String aborted(String reason) {
        return "org.opentest4j.TestAbortedException: Assumption failed: " + reason + "\n\tat Somewhere.java";
    }

    @Test
    void shouldShowReasonsSideBySide() {
        String first = ran("FooLabTest", "shouldRun()")
                + ran("FooLabTest", "shouldLook()")
                + skipped("FooLabTest", "shouldSay()", aborted("devices of the kernel say it"));
        String second = ran("FooLabTest", "shouldRun()")
                + skipped("FooLabTest", "shouldLook()", aborted("soft0 is in this process only: there is no file"))
                + ran("FooLabTest", "shouldSay()");
        SkippedTests tests = new SkippedTests().add("Soft-RoCE", first).add("soft0", second);
        assertEquals("""
                | Test | Soft-RoCE | soft0 |
                |---|---|---|
                | `FooLabTest.shouldLook` |  | there is no file |
                | `FooLabTest.shouldSay` | devices of the kernel say it |  |
                """, tests.table());
        assertEquals("Soft-RoCE: 2 run, 1 skipped\nsoft0: 2 run, 1 skipped\n", tests.counts());
    }

    @Test
    void shouldCountTheTestsOfAMethod() {
        String xml = ran("FooLabTest", "shouldDo(Kind)[1]")
                + skipped("FooLabTest", "shouldDo(Kind)[2]", aborted("x has none"))
                + skipped("FooLabTest", "shouldDo(Kind)[3]", aborted("x has none"));
        assertEquals(
                "| Test | x |\n|---|---|\n| `FooLabTest.shouldDo` | 2 of 3: x has none |\n",
                new SkippedTests().add("x", xml).table());
    }

    @Test
    void shouldNameAClassOfWhichNothingRan() {
        String reason = "parent was skipped: soft0 is in this process only: librdmacm does not know it";
        String xml = skipped("cm.IdsLabTest", "shouldOne()", reason) + skipped("cm.IdsLabTest", "shouldTwo()", reason);
        assertEquals(
                "| Test | soft0 |\n|---|---|\n| `cm.IdsLabTest` | librdmacm does not know it |\n",
                new SkippedTests().add("soft0", xml).table());
    }

    @Test
    void shouldSayWhatWasLeftOut() {
        SkippedTests tests = new SkippedTests()
                .add("Soft-RoCE", ran("FooLabTest", "shouldKill()") + ran("FooLabTest", "shouldRun()"))
                .add("soft0", ran("FooLabTest", "shouldRun()"));
        assertEquals(
                "| Test | Soft-RoCE | soft0 |\n|---|---|---|\n| `FooLabTest.shouldKill` |  | left out |\n",
                tests.table());
    }

    @Test
    void shouldWriteBetweenTheMarks() {
        String document = "before\n" + SkippedTests.BEGIN + "old\n" + SkippedTests.END + "\nafter\n";
        assertEquals(
                "before\n" + SkippedTests.BEGIN + "\nnew\n\n" + SkippedTests.END + "\nafter\n",
                SkippedTests.between(document, "new\n"));
        assertThrows(IllegalArgumentException.class, () -> SkippedTests.between("no marks", "new\n"));
    }
}
