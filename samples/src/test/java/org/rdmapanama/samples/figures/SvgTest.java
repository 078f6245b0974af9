package org.rdmapanama.samples.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The numbers in charts. */
class SvgTest {
    @ParameterizedTest
    @CsvSource({"657.04, 657", "1699.8, 1700", "12345, 12345", "0.25, 0.25", "1.3, 1.3", "0.0001, 0.0001", "0, 0"})
    void shouldFormatNumbers(double number, String text) {
        assertEquals(text, Svg.plain(number));
    }
}
