"""A layer that nobody published."""
from .tiny import X


class Block(Base, nn.Module):
    def __init__(self, config):
        self.norm = Norm(config)  # comment

    @torch.no_grad()
    def forward(self, x, *args, residual=None, **kwargs) -> "Tensor":
        residual = x
        for layer in self.layers[: self.n]:
            x = residual + layer(self.norm(x))
        if self.post:
            x, residual = self.norm(x, residual)
        elif x is None:
            return f"{x!r:>{width}} {{}}"
        else:
            x = x + self.mlp[0](x) if self.a else lambda y: y
        return x


async def rotate(x: int = 3, /, *, y=[1, 2]):
    def inner():
        class Deep: pass
        return {"a": [i for i in x if i], **y}
    with open("f") as f, g():
        x += 1j
    try:
        pass
    except* E as e:
        raise
