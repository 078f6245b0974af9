package org.rdmapanama.samples.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The numbers and lines of text in drawings. */
class SvgTest {
    @ParameterizedTest
    @CsvSource({"657.04, 657", "1699.8, 1700", "12345, 12345", "0.25, 0.25", "1.3, 1.3", "0.0001, 0.0001", "0, 0"})
    void shouldFormatNumbers(double number, String text) {
        assertEquals(text, Svg.plain(number));
    }

    @Test
    void shouldDivideTextIntoLinesThatFit() {
        List<String> pieces = List.of("one", "two,", "a piece that is too wide", "three");
        assertEquals(
                List.of("one two,", "a piece that is too wide", "three"), Svg.lines(pieces, Svg.widthOf("one two,")));
        assertEquals(List.of("one two, a piece that is too wide three"), Svg.lines(pieces, 1000));
        assertEquals(List.of(""), Svg.lines(List.of(), 10));
    }
}
