"""Transformers by their shape: parameters, floating-point operations and bytes of activations, in closed form.

References
----------
Vaswani et al.: Attention is all you need. NeurIPS 2017, arXiv:1706.03762.
Narayanan et al.: Efficient large-scale language model training on GPU clusters using Megatron-LM. SC 2021,
doi:10.1145/3458817.3476209, section 5.1 and appendix.
Touvron et al.: Llama 2. arXiv:2307.09288. Brown et al.: Language models are few-shot learners. arXiv:2005.14165.
Jiang et al.: Mixtral of experts. arXiv:2401.04088.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, NoPhysics, QuantityOrMapping, Whole, model_check

MODELS: dict[str, dict[str, Any]] = {
    "llama-7b": {"layers": 32, "hidden": 4096, "ffn": 11008, "heads": 32, "sequence": 4096, "vocabulary": 32000},
    "llama-70b": {
        "layers": 80, "hidden": 8192, "ffn": 28672, "heads": 64, "kv_heads": 8, "sequence": 4096, "vocabulary": 32000,
    },
    "gpt3-175b": {
        "layers": 96, "hidden": 12288, "ffn": 49152, "heads": 96, "sequence": 2048, "vocabulary": 50257, "style": "gpt",
    },
    "mixtral-8x7b": {
        "layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "sequence": 4096, "vocabulary": 32000,
        "experts": 8, "active_experts": 2,
    },
}  # fmt: skip

_Dimension = Annotated[Whole, Field(ge=1, le=10_000_000)]


class Transformer(QuantityOrMapping):
    """A decoder-only transformer; a plain name is shorthand for `name`.

    In the style ``llama`` a block has a gated feed-forward network of three matrices and two norms, and the output has
    a matrix of its own. In the style ``gpt`` the network has two matrices, all matrices have biases, positions are
    learned, and the output shares the matrix of the input.
    """

    name: Annotated[str | None, NoPhysics] = Field(
        None, description=f"a published model, which defines the shape; other keys override it: {', '.join(MODELS)}"
    )
    layers: _Dimension = Field(description="number of layers")
    hidden: _Dimension = Field(description="length of a token's vector (h)")
    ffn: _Dimension = Field(description="inner length of the feed-forward network, of each expert")
    heads: _Dimension = Field(description="attention heads")
    kv_heads: Whole | None = Field(None, ge=1, description="heads of keys and values; default: all heads")
    sequence: _Dimension = Field(description="tokens of a sequence (s)")
    vocabulary: Whole = Field(ge=0, le=10_000_000, description="number of distinct tokens; 0: layers alone")
    element_bytes: Whole = Field(2, alias="bytes", ge=1, le=8, description="bytes of a parameter, gradient, activation")
    style: Literal["llama", "gpt"] = Field("llama", description="feed-forward network, norms and output")
    experts: Whole = Field(1, ge=1, le=100_000, description="experts of each layer; 1: a dense model")
    active_experts: Whole = Field(1, ge=1, description="experts that process a token (top-k)")

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        value = {"name": value} if isinstance(value, str) else value
        if not isinstance(value, dict) or value.get("name") is None:
            return value
        name = value["name"]
        if name not in MODELS:
            raise ConfigError("unknown model", suggestion(name, list(MODELS)), ("name",), name, "unknown-value")
        return MODELS[name] | value

    @model_check
    def _is_consistent(self) -> None:
        key_heads = self.kv_heads or self.heads
        for name, value, whole in (("hidden", self.hidden, self.heads), ("heads", self.heads, key_heads)):
            if value % whole:
                remedy = f"use a multiple of {whole}"
                raise ConfigError(f"not divisible by {whole} heads", remedy, (name,), value, "does-not-fit")
        if self.active_experts > self.experts:
            remedy = f"use at most {self.experts}"
            problem = "more active experts than experts"
            raise ConfigError(problem, remedy, ("active_experts",), self.active_experts, "does-not-fit")

    @property
    def attention_parameters(self) -> int:
        """Parameters of the four matrices of attention, of a layer."""
        keys = self.hidden * (self.kv_heads or self.heads) // self.heads
        return 2 * self.hidden * (self.hidden + keys)

    @property
    def expert_parameters(self) -> int:
        """Parameters of the matrices of one expert, of a layer."""
        return (3 if self.style == "llama" else 2) * self.hidden * self.ffn

    @property
    def shared_parameters(self) -> int:
        """Parameters of a layer without experts; those of a dense layer are all shared."""
        router = self.hidden * self.experts if self.experts > 1 else 0
        norms_and_biases = 2 * self.hidden if self.style == "llama" else 9 * self.hidden + self.ffn
        dense = self.expert_parameters if self.experts == 1 else 0
        return self.attention_parameters + dense + router + norms_and_biases

    @property
    def routed_parameters(self) -> int:
        """Parameters of all experts of a layer; 0 for a dense model."""
        return self.experts * self.expert_parameters if self.experts > 1 else 0

    @property
    def embedding_parameters(self) -> int:
        """Parameters before the first layer."""
        positions = self.sequence if self.style == "gpt" and self.vocabulary else 0
        return (self.vocabulary + positions) * self.hidden

    @property
    def output_parameters(self) -> int:
        """Parameters after the last layer, of a rank that does not share those of the embedding."""
        norm = {"llama": 1, "gpt": 2}[self.style] * self.hidden
        return self.vocabulary * self.hidden + norm if self.vocabulary else 0

    @property
    def parameters(self) -> int:
        """Number of parameters (N)."""
        shared_output = self.vocabulary * self.hidden if self.style == "gpt" else 0
        layers = self.layers * (self.shared_parameters + self.routed_parameters)
        return layers + self.embedding_parameters + self.output_parameters - shared_output

    def layer_flop(self, sequences: int) -> float:
        """Return the floating-point operations of a layer's forward pass: 2 T a parameter, and 4 T s h of attention.

        T are the tokens of these `sequences`. For a dense layer with matrices of 12 h^2 this is the
        24 B s h^2 (1 + s / (6 h)) of Narayanan et al.; masked halves of the attention matrix count as computed.
        """
        tokens = float(sequences * self.sequence)
        experts = self.active_experts * self.expert_parameters
        return 2 * tokens * (self.attention_parameters + experts) + 4 * tokens * self.sequence * self.hidden

    def output_flop(self, sequences: int) -> float:
        """Return the floating-point operations of the forward pass of the output: 2 T h v."""
        return 2.0 * sequences * self.sequence * self.hidden * self.vocabulary

    def activation_bytes(self, sequences: int) -> int:
        """Return the bytes of the activations between two layers: b s h elements."""
        return sequences * self.sequence * self.hidden * self.element_bytes
