package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class VerbsExceptionTest {
    @Test
    void shouldNameVerbErrnoArgumentsAndCure() {
        VerbsException exception = new VerbsException("ibv_reg_mr", 12, "rxe0, 4096 bytes", "raise the limit");
        assertEquals(
                "ibv_reg_mr failed: ENOMEM (12, cannot allocate memory) for rxe0, 4096 bytes; raise the limit",
                exception.getMessage());
        assertEquals("ibv_reg_mr", exception.verb());
        assertEquals(12, exception.errno());
        assertEquals("ENOMEM", exception.errnoName());
        assertEquals("rxe0, 4096 bytes", exception.arguments());
        assertEquals("raise the limit", exception.cure());
    }

    @Test
    void shouldLeaveOutWhatIsNotThere() {
        VerbsException exception = new VerbsException("ibv_alloc_pd", 110, "", null);
        assertEquals("ibv_alloc_pd failed: ETIMEDOUT (110, connection timed out)", exception.getMessage());
        assertNull(exception.cure());
    }

    @Test
    void shouldNotDropAnErrnoWithoutAName() {
        VerbsException exception = new VerbsException("ibv_alloc_pd", 9999, "", null);
        assertEquals("ibv_alloc_pd failed: errno 9999", exception.getMessage());
        assertEquals("9999", exception.errnoName());
    }
}
