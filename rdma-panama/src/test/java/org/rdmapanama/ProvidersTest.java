package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.ProviderContext;

/** Verbs that not every device has are optional on the provider line: forgetting one must not look like that. */
class ProvidersTest {
    /** Further ones come of modules that are not on the path here. */
    @Test
    void shouldAskLibibverbsFirst() {
        assertInstanceOf(NativeProvider.class, Providers.all().getFirst());
        assertSame(Providers.all(), Providers.all());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"org.rdmapanama.internal.libibverbs.NativeContext", "org.rdmapanama.standin.RecordingProvider"})
    void shouldHaveEveryVerb(String implementation) throws ClassNotFoundException {
        List<Method> own = Arrays.asList(Class.forName(implementation).getDeclaredMethods());
        List<String> missing = Arrays.stream(ProviderContext.class.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()))
                .filter(method -> own.stream().noneMatch(mine -> mine.getName().equals(method.getName())))
                .map(Method::getName)
                .toList();
        assertEquals(List.of(), missing);
    }
}
